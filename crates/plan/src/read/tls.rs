//! Reads `[tls]`.

use crate::read::field::Field;
use crate::read::key_log::key_log;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::{certificate, identities, server_names};
use crate::{
    CipherSuite, ClientCertificates, Connection, Group, HttpVersion, KeyExchange, KeyShare, Replay,
    RequestsPerConnection, Resumption, ResumptionKind, ServerNames, SignatureScheme, Tls,
    TlsVersion, Verify, Words as _,
};

/// Settings of `[connection]` that `[tls]` has to match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionContext {
    pub(crate) per_connection: RequestsPerConnection,
    pub(crate) http: HttpVersion,
}

impl ConnectionContext {
    /// Takes the settings of `connection`, or their defaults if it could not be read.
    pub(crate) fn new(connection: Option<&Connection>) -> ConnectionContext {
        let per_connection = connection.map(|connection| connection.requests);
        let http = connection.map(|connection| connection.http);
        ConnectionContext {
            per_connection: per_connection.unwrap_or(RequestsPerConnection::Unlimited),
            http: http.unwrap_or(HttpVersion::Http11),
        }
    }

    fn handshake_only(self) -> bool {
        self.per_connection == RequestsPerConnection::HandshakeOnly
    }
}

/// Paths of `[tls]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "tls.versions",
    "tls.cipher_suites",
    "tls.groups",
    "tls.key_share",
    "tls.signatures",
    "tls.resumption",
    "tls.resumption.share",
    "tls.resumption.kind",
    "tls.early_data",
    "tls.verify",
    "tls.key_exchange",
    "tls.ca",
    "tls.client_certificates",
    "tls.server_name",
    "tls.alpn",
    "tls.key_log",
];

/// Reads the section. `of_log` is the replay whose log says how connections begin, if one does.
pub(crate) fn read(
    section: PlanSection<'_>,
    connection: ConnectionContext,
    of_log: Option<&Replay>,
) -> Option<Tls> {
    let versions = versions(&section);
    let cipher_suites = cipher_suites(&section, versions.as_deref());
    // Suites alone determine the versions: each suite belongs to one of them (RFC 8446, appendix
    // B.4).
    let versions = versions
        .or_else(|| cipher_suites.as_deref().map(versions_of))
        .unwrap_or_default();
    let groups = section
        .read("groups", groups)
        .unwrap_or_else(|| Group::DEFAULT.to_vec());
    check_groups(&section, &versions, &groups);
    let key_share = key_share(&section, &groups);
    let signatures = section.read("signatures", signatures);
    check_signatures(&section, &versions, signatures.as_deref());
    let resumption = section
        .read("resumption", resumption)
        .unwrap_or(of_log.map_or(Resumption::Never, |_| Resumption::Recorded));
    check_resumption(&section, &versions, resumption);
    let early_data = section
        .read("early_data", |field| field.flag())
        .unwrap_or(false);
    if early_data {
        check_early_data(&section, &versions, resumption, connection);
    }
    let verify = section
        .read("verify", |field| field.choice())
        .unwrap_or(Verify::Full);
    let key_exchange = key_exchange(&section);
    let ca = section.read("ca", |field| certificate::authorities(&field));
    let none = ClientCertificates::Files(Vec::new());
    let client_certificates = section
        .read("client_certificates", |field| identities::read(&field))
        .unwrap_or(none);
    let server_name = section.field("server_name");
    let server_name = server_name.map_or(Some(ServerNames::OfUrl), |field| {
        server_names::read(&field, connection.per_connection, connection.http)
    });
    check_recorded(&section, &versions, (server_name.as_ref(), of_log));
    let alpn = section
        .read("alpn", |field| alpn(&field, connection))
        .unwrap_or_else(|| default_alpn(connection));
    let key_log = key_log(&section);
    section.finish();
    // Every key has been read by now, so that all problems are reported at once.
    Some(Tls {
        versions,
        cipher_suites: cipher_suites?,
        groups,
        key_share,
        signatures,
        resumption,
        early_data,
        verify,
        key_exchange,
        ca,
        client_certificates,
        server_name: server_name?,
        alpn,
        key_log,
    })
}

/// Reads the versions asked for, ascending; `None` if there are no valid ones.
fn versions(section: &PlanSection<'_>) -> Option<Vec<TlsVersion>> {
    let field = section.field("versions")?;
    let mut versions = field.list_of("one such as [\"1.2\", \"1.3\"]", version)?;
    versions.sort_unstable();
    versions.dedup();
    if versions.is_empty() {
        field.problem("[] offers no version; write [\"1.3\"], [\"1.2\"] or both");
        return None;
    }
    Some(versions)
}

fn version(field: &Field<'_>) -> Option<TlsVersion> {
    // A variable keeps its text, even if that looks like a number.
    if let (NodeValue::Decimal(number), None) = (&field.node.value, &field.node.variable) {
        field.refuse(format_args!(
            "is a number, and versions are words; write \"{number:?}\""
        ));
        return None;
    }
    let text = field.text("\"1.2\" or \"1.3\"")?;
    let name = text.to_ascii_lowercase().replace([' ', '_', '-'], "");
    match name
        .strip_prefix("tls")
        .unwrap_or(&name)
        .trim_start_matches('v')
    {
        "12" => return Some(TlsVersion::V12),
        "13" => return Some(TlsVersion::V13),
        word if TlsVersion::from_word(word).is_some() => return TlsVersion::from_word(word),
        "1" | "1.0" | "1.1" | "10" | "11" | "ssl3" | "sslv3" | "ssl2" | "sslv2" => field.refuse(
            "is deprecated (RFC 8996) and not offered by rustls; write \"1.2\" or \"1.3\", or use \
             `openssl s_client -tls1_1` from an old OpenSSL",
        ),
        _ => field.refuse("is not a TLS version; write \"1.2\" or \"1.3\""),
    }
    None
}

/// Reads the suites asked for, or returns all suites of the versions.
fn cipher_suites(
    section: &PlanSection<'_>,
    versions: Option<&[TlsVersion]>,
) -> Option<Vec<CipherSuite>> {
    let Some(field) = section.field("cipher_suites") else {
        let offered = |suite: &CipherSuite| {
            versions.is_none_or(|versions| versions.contains(&suite.version()))
        };
        return Some(CipherSuite::ALL.into_iter().filter(offered).collect());
    };
    let suites = field.list_of("one such as [\"TLS_AES_128_GCM_SHA256\"]", |item| {
        item.parse("\"TLS_AES_128_GCM_SHA256\"")
    })?;
    if suites.is_empty() {
        field.problem(
            "[] offers no suite; write one such as [\"TLS_AES_128_GCM_SHA256\"], or leave it out \
             for all",
        );
        return None;
    }
    let suites = without_repeats(suites);
    check_suites(&field, versions.unwrap_or(&versions_of(&suites)), &suites);
    Some(suites)
}

/// The versions of the suites, used if no versions are asked for.
fn versions_of(suites: &[CipherSuite]) -> Vec<TlsVersion> {
    let has = |version: &TlsVersion| suites.iter().any(|suite| suite.version() == *version);
    [TlsVersion::V12, TlsVersion::V13]
        .into_iter()
        .filter(has)
        .collect()
}

fn check_suites(field: &Field<'_>, versions: &[TlsVersion], suites: &[CipherSuite]) {
    for suite in suites
        .iter()
        .filter(|suite| !versions.contains(&suite.version()))
    {
        let name = suite.name;
        let version = suite.version();
        field.problem(format_args!(
            "{name} belongs to TLS {version}, which versions does not offer; remove it, or add \
             \"{version}\" to versions"
        ));
    }
    for version in versions
        .iter()
        .filter(|version| !versions_of(suites).contains(version))
    {
        field.problem(format_args!(
            "has no suite of TLS {version}, which versions offers; add one, or remove \
             \"{version}\" from versions"
        ));
    }
}

fn without_repeats<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

fn groups(field: Field<'_>) -> Option<Vec<Group>> {
    let groups = field.list_of("one such as [\"X25519\"]", |item| item.parse("\"X25519\""))?;
    if groups.is_empty() {
        field.problem(
            "[] offers no group; write one such as [\"X25519\"], or leave it out for the default",
        );
        return None;
    }
    Some(without_repeats(groups))
}

fn check_groups(section: &PlanSection<'_>, versions: &[TlsVersion], groups: &[Group]) {
    for version in versions
        .iter()
        .filter(|version| !groups.iter().any(|group| group.fits(**version)))
    {
        let message = format!(
            "has no group for TLS {version}, which versions offers: ML-KEM belongs to TLS 1.3; \
             add one such as \"X25519\", or write versions = [\"1.3\"]"
        );
        section.problem_at("groups", message);
    }
}

fn signatures(field: Field<'_>) -> Option<Vec<SignatureScheme>> {
    let example = "\"ecdsa_secp256r1_sha256\"";
    let schemes = field.list_of(&format!("one such as [{example}]"), |item| {
        item.parse(example)
    })?;
    if schemes.is_empty() {
        field.problem(format_args!(
            "[] offers no scheme; write one such as [{example}], or leave it out for all"
        ));
        return None;
    }
    Some(without_repeats(schemes))
}

fn check_signatures(
    section: &PlanSection<'_>,
    versions: &[TlsVersion],
    schemes: Option<&[SignatureScheme]>,
) {
    let Some(schemes) = schemes else { return };
    for version in versions
        .iter()
        .filter(|version| !schemes.iter().any(|scheme| scheme.fits(**version)))
    {
        let message = format!(
            "has no scheme for handshakes of TLS {version}, which versions offers (rsa_pkcs1 \
             belongs to TLS 1.2, mldsa to TLS 1.3); add one such as \"rsa_pss_rsae_sha256\", or \
             remove \"{version}\" from versions"
        );
        section.problem_at("signatures", message);
    }
}

fn resumption(field: Field<'_>) -> Option<Resumption> {
    if let NodeValue::Table(_) = field.node.value {
        return share(field.section()?);
    }
    let always = Resumption::Share {
        share: 1.0,
        kind: ResumptionKind::Any,
    };
    match field.text("\"never\", \"always\" or { share = 0.8 }")? {
        Resumption::NEVER_WORD => return Some(Resumption::Never),
        "always" => return Some(always),
        _ => field.refuse("is not known here; write \"never\", \"always\" or { share = 0.8 }"),
    }
    None
}

fn share(section: PlanSection<'_>) -> Option<Resumption> {
    let kind = section
        .read("kind", |field| field.choice())
        .unwrap_or(ResumptionKind::Any);
    let share = section.read("share", |field| above_zero(&field));
    let all = if section.has("share") {
        share
    } else {
        Some(1.0)
    };
    section.finish();
    all.map(|share| Resumption::Share { share, kind })
}

fn above_zero(field: &Field<'_>) -> Option<f64> {
    let share = field.number("a share such as 0.8")?;
    let fits = share > 0.0 && share <= 1.0;
    if share == 0.0 {
        field.refuse("resumes nothing; write resumption = \"never\"");
    } else if !fits {
        field.refuse("is not a share; write a number above 0 and at most 1, such as 0.8");
    }
    fits.then_some(share)
}

fn check_resumption(section: &PlanSection<'_>, versions: &[TlsVersion], resumption: Resumption) {
    let Resumption::Share {
        kind: ResumptionKind::SessionId,
        ..
    } = resumption
    else {
        return;
    };
    match versions {
        [TlsVersion::V13] => section.problem_at(
            "resumption",
            "kind = \"session-id\" is TLS 1.2's (RFC 5246 §7.4.1.2), and versions offers only \
             1.3; write versions = [\"1.2\"] or kind = \"any\"",
        ),
        [TlsVersion::V12, TlsVersion::V13] => section.context.note(
            "tls.resumption.kind = \"session-id\" resumes nothing if the server chooses TLS \
             1.3; versions = [\"1.2\"] makes sure"
                .to_owned(),
        ),
        _ => {}
    }
}

/// Reports what the handshakes of a log leave no room for, if there are any.
fn check_recorded(
    section: &PlanSection<'_>,
    versions: &[TlsVersion],
    (server_name, of_log): (Option<&ServerNames>, Option<&Replay>),
) {
    let Some(replay) = of_log else { return };
    if section.has("resumption") {
        section.problem_at(
            "resumption",
            "decides which connections resume, and with replay.handshakes = \"recorded\" the log \
             does; remove one of them",
        );
    }
    let facts = replay.arrivals.handshake_facts().unwrap_or_default();
    if matches!(server_name, Some(ServerNames::Given(_))) && facts.names > 0 {
        section.problem_at(
            "server_name",
            format_args!(
                "names connections, and with replay.handshakes = \"recorded\" the log does ({} of \
                 them); remove one of them",
                facts.names
            ),
        );
    }
    if let Some(ServerNames::Column(_)) = server_name {
        section.problem_at(
            "server_name",
            "is a column, and with replay.handshakes = \"recorded\" connections have the names of \
             the log; write one name for those that it does not have, or remove it",
        );
    }
    for (version, number) in [
        (TlsVersion::V12, facts.tls12),
        (TlsVersion::V13, facts.tls13),
    ] {
        if number > 0 && !versions.is_empty() && !versions.contains(&version) {
            let message = format!(
                "does not offer TLS {version}, and with replay.handshakes = \"recorded\" {number} \
                 connections of the log use it; add \"{version}\", or leave out versions and \
                 cipher_suites"
            );
            section.problem_at("versions", message);
        }
    }
}

/// Early data is a request that goes out with the ClientHello of a resumed TLS 1.3 session.
fn check_early_data(
    section: &PlanSection<'_>,
    versions: &[TlsVersion],
    resumption: Resumption,
    connection: ConnectionContext,
) {
    let why_not = if !versions.is_empty() && !versions.contains(&TlsVersion::V13) {
        Some(
            "is TLS 1.3's (RFC 8446 §2.3), which versions does not offer; add \"1.3\" to \
             versions, or remove it",
        )
    } else if resumption == Resumption::Never {
        Some("needs a session to resume; write resumption = \"always\" beside it, or remove it")
    } else if matches!(
        resumption,
        Resumption::Share {
            kind: ResumptionKind::SessionId,
            ..
        }
    ) {
        Some("goes with TLS 1.3's tickets; write kind = \"any\" in resumption, or remove it")
    } else if connection.handshake_only() {
        Some("is a request, and connection.requests = 0 sends none; remove it")
    } else if connection.http != HttpVersion::Http11 {
        Some(
            "goes with HTTP/1.1 in this release; write http = \"1.1\" in [connection], or remove \
             it",
        )
    } else {
        None
    };
    match why_not {
        Some(why) => section.problem_at("early_data", why),
        None => section.context.note(
            "tls.early_data: anyone who sees a request sent as early data can send it again \
             (RFC 8446 §8); only requests with GET, HEAD, OPTIONS or TRACE do so"
                .to_owned(),
        ),
    }
}

fn key_share(section: &PlanSection<'_>, groups: &[Group]) -> KeyShare {
    let key_share = section
        .read("key_share", |field| field.choice())
        .unwrap_or(KeyShare::First);
    if key_share == KeyShare::Remembered && groups.len() == 1 {
        section.context.note(
            "tls.key_share = \"remembered\" changes nothing: tls.groups has one group only"
                .to_owned(),
        );
    }
    key_share
}

fn key_exchange(section: &PlanSection<'_>) -> KeyExchange {
    let key_exchange = section
        .read("key_exchange", |field| field.choice())
        .unwrap_or(KeyExchange::Fresh);
    if key_exchange == KeyExchange::Cheap {
        let note = "tls.key_exchange = \"cheap\" gives up the secrecy of these connections: send \
                    no real data; the report says that it was used";
        section.context.note(note.to_owned());
    }
    key_exchange
}

/// HTTP/2 over TLS is only negotiated by ALPN (RFC 9113 §3.2).
fn default_alpn(connection: ConnectionContext) -> Vec<String> {
    match connection.http {
        HttpVersion::Http11 => Vec::new(),
        HttpVersion::Http2 { .. } => vec!["h2".to_owned()],
    }
}

fn alpn(field: &Field<'_>, connection: ConnectionContext) -> Option<Vec<String>> {
    let protocols = without_repeats(field.list_of("one such as [\"http/1.1\"]", |item| {
        protocol(item, connection)
    })?);
    let speaks_h2 =
        matches!(connection.http, HttpVersion::Http2 { .. }) && !connection.handshake_only();
    if speaks_h2 && protocols != ["h2"] {
        field.problem(
            "does not go with connection.http = \"2\", which is agreed on by \"h2\" alone; write \
             [\"h2\"], or remove it",
        );
        return None;
    }
    Some(protocols)
}

/// Checks a protocol: the server can choose any version that is offered, and then we must speak it.
fn protocol(field: &Field<'_>, connection: ConnectionContext) -> Option<String> {
    let text = field.text("\"http/1.1\"")?;
    if !(1..=255).contains(&text.len()) || text.contains(char::is_control) {
        field.refuse("is not a protocol's name (RFC 7301); write one such as \"http/1.1\"");
    } else if text == "h3" && !connection.handshake_only() {
        field.refuse(
            "would let the server choose HTTP/3, which is not in this release; write \"http/1.1\"",
        );
    } else if text == "h2" && connection.http == HttpVersion::Http11 && !connection.handshake_only()
    {
        field.refuse(
            "would let the server choose HTTP/2; write http = \"2\" in [connection], or \
             \"http/1.1\" here",
        );
    } else {
        return Some(text.to_owned());
    }
    None
}
