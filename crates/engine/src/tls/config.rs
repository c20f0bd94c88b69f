//! Turns the plan's `[tls]` into one rustls configuration per worker.

use super::accepted_chains::AcceptedChains;
use super::connection_names::{ConnectionNames, OtherOrigin};
use super::identity::{Credentials, Identities, pair};
use super::keys::Keys;
use super::offer::{Hello, Offer, SessionVersions};
use super::pem::certificates;
use super::recorded_hellos::{HelloFormat, RecordedHellos};
use super::sessions::{SessionOwners, Sessions};
use super::tls_error::TlsError;
use super::verifier::Verifier;
use super::{cheap, hkdf};
use crate::key_log::KeySink;
use plan::{
    File, KeyExchange, Plan, RequestsPerConnection, Resumption, ResumptionKind, Tls, TlsVersion,
    Verify,
};
use rustls::client::{
    ClientSessionStore, Resumption as RustlsResumption, Tls12Resumption, WebPkiServerVerifier,
};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::{ClientConfig, NamedGroup, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Checks the files with certificates and keys that the plans name, each once, for anything that
/// would keep an agent from using them.
///
/// # Errors
/// Returns the first that cannot be used.
pub fn check_certificates<'p>(plans: impl Iterator<Item = &'p Plan>) -> Result<(), TlsError> {
    let provider = aws_lc_rs::default_provider();
    let mut seen = BTreeSet::new();
    for tls in plans.filter_map(Plan::tls) {
        let ca = tls.ca.as_ref().filter(|_| tls.verify != Verify::None);
        if let Some(ca) = ca.filter(|ca| seen.insert((ca.sha256, None))) {
            read_roots(ca)?;
        }
        for files in tls.client_certificates.files() {
            if seen.insert((files.cert.sha256, Some(files.key.sha256))) {
                pair(files, &provider)?;
            }
        }
    }
    Ok(())
}

/// Everything in `[tls]` that is parsed once per agent: roots, identities, names.
pub(crate) struct Materials {
    roots: Arc<RootCertStore>,
    credentials: Credentials,
    names: ConnectionNames,
    other_origins: Arc<[OtherOrigin]>,
    lasts: bool,
    tls: Tls,
}

/// TLS of one worker. It has one configuration, one verifier and one resolver for the whole run,
/// since rustls silently drops a session unless verifier and resolver are those it was made with.
pub(crate) struct WorkerTls {
    configs: HelloConfigs,
    /// Those of a log's handshakes, by their kind.
    recorded_configs: Vec<HelloConfigs>,
    /// That of connections which present no certificate, if the plan has any.
    anonymous_configs: Option<HelloConfigs>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) verifier: Arc<Verifier>,
    pub(crate) identities: Arc<Identities>,
    names: ConnectionNames,
    other_origins: Arc<[OtherOrigin]>,
    /// Secrets of handshakes, if they are wanted.
    pub(crate) keys: Option<Arc<Keys>>,
    /// Whether connections carry more than one request.
    pub(crate) lasts: bool,
    pub(crate) offering: Offering,
}

/// Which new connections offer a session.
pub(crate) enum Offering {
    Never,
    /// This share of them.
    Share(f64),
    /// Those that did in a log.
    Recorded(Arc<RecordedHellos>),
}

/// The configurations for one kind of ClientHello.
#[derive(Clone)]
struct HelloConfigs {
    config: Arc<ClientConfig>,
    /// The same for connections whose request goes out as early data, if the plan asks for that:
    /// rustls announces early data with every session that allows it.
    early: Option<Arc<ClientConfig>>,
}

impl Materials {
    /// Parses what the plan names and agent `agent` of `agents` needs; `None` if no
    /// connection is encrypted.
    pub(crate) fn new(plan: &Plan, agent: u32, agents: u32) -> Result<Option<Materials>, TlsError> {
        let Some(tls) = plan.tls() else {
            return Ok(None);
        };
        let roots = if tls.verify == Verify::None {
            RootCertStore::empty()
        } else {
            roots(tls)?
        };
        let credentials = Credentials::new(plan, agent, agents, &aws_lc_rs::default_provider())?;
        let names = ConnectionNames::new(plan, tls)?;
        let others = plan.target().redirects_to.iter();
        let others = others.map(|origin| OtherOrigin::new(plan, &origin.url, &names));
        let lasts = match plan.connection().requests {
            RequestsPerConnection::HandshakeOnly => false,
            RequestsPerConnection::Limited(number) => number.get() > 1,
            RequestsPerConnection::Unlimited => true,
        };
        Ok(Some(Materials {
            roots: Arc::new(roots),
            credentials,
            other_origins: others.collect::<Result<_, _>>()?,
            names,
            lasts,
            tls: tls.clone(),
        }))
    }

    /// Identities of connections that present none, if redirects may lead to other hosts.
    fn anonymous(&self) -> Option<Arc<Identities>> {
        let mut others = self.other_origins.iter();
        let has_hosts = others.any(|origin| !origin.is_at_host);
        has_hosts.then(|| Arc::new(Identities::none()))
    }
}

impl WorkerTls {
    /// Builds a worker's own configuration, which shares nothing mutable with other workers, so
    /// that they never contend. Its users have the client identities at `places`.
    pub(crate) fn new(
        materials: &Materials,
        places: &BTreeSet<usize>,
        sink: Option<KeySink>,
    ) -> Result<WorkerTls, TlsError> {
        let tls = &materials.tls;
        let recorded = materials.names.recorded();
        let provider = Arc::new(provider(tls)?);
        let verifier = Arc::new(verifier(materials, &provider)?);
        let identities = Arc::new(materials.credentials.identities(places, &provider)?);
        let sessions = Arc::new(Sessions::new(
            tls.resumption != Resumption::Never,
            match recorded {
                Some(_) => SessionOwners::Names,
                None => SessionOwners::Users,
            },
            tls.key_share,
            // Each user has a place of its own for each origin.
            materials.names.differ(),
        ));
        let keys = sink.map(|sink| Arc::new(Keys::new(sink)));
        let of_identities = |format: &HelloFormat, identities: &Arc<Identities>| {
            let mut config = ClientConfig::builder_with_provider(of_versions(&provider, format))
                .with_protocol_versions(&versions(&format.versions))?
                .dangerous()
                .with_custom_certificate_verifier(Arc::clone(&verifier) as _)
                .with_client_cert_resolver(Arc::clone(identities) as _);
            config.alpn_protocols = tls
                .alpn
                .iter()
                .map(|protocol| protocol.clone().into_bytes())
                .collect();
            config.enable_sni = format.names_server;
            // Lasting connections are taken over from rustls after their handshake: see
            // `record_layer`.
            config.enable_secret_extraction = true;
            config.resumption = resumption(tls, Arc::clone(&sessions) as _);
            if let Some(keys) = &keys {
                config.key_log = Arc::clone(keys) as _;
            }
            Ok::<_, TlsError>(HelloConfigs::new(config, tls.early_data))
        };
        let configs = |format: &HelloFormat| of_identities(format, &identities);
        let own = HelloFormat {
            versions: tls.versions.clone(),
            names_server: true,
        };
        let anonymous = materials.anonymous();
        let anonymous = anonymous.map(|identities| of_identities(&own, &identities));
        Ok(WorkerTls {
            configs: configs(&own)?,
            anonymous_configs: anonymous.transpose()?,
            recorded_configs: match recorded {
                Some(recorded) => for_each(recorded.formats(), configs)?,
                None => Vec::new(),
            },
            offering: match (tls.resumption, recorded) {
                (_, Some(recorded)) => Offering::Recorded(Arc::clone(recorded)),
                (Resumption::Share { share, .. }, None) => Offering::Share(share),
                (Resumption::Never | Resumption::Recorded, None) => Offering::Never,
            },
            sessions,
            verifier,
            identities,
            names: materials.names.clone(),
            other_origins: Arc::clone(&materials.other_origins),
            keys,
            lasts: materials.lasts,
        })
    }
}

impl WorkerTls {
    /// The configuration for a ClientHello, followed by early data or not.
    pub(super) fn config(&self, hello: &Hello<'_>) -> &Arc<ClientConfig> {
        let configs = match (hello.offer, &self.anonymous_configs) {
            (Offer::Recorded(kind), _) => &self.recorded_configs[kind as usize],
            (_, Some(anonymous)) if !hello.has_identity => anonymous,
            (Offer::Nothing | Offer::Session, _) => &self.configs,
        };
        let early = configs.early.as_ref();
        let early = early.filter(|_| hello.early.is_some());
        early.unwrap_or(&configs.config)
    }

    /// The names of connections to one of the target's destinations.
    #[inline]
    pub(crate) fn names(&self, origin: u16) -> &ConnectionNames {
        match origin {
            0 => &self.names,
            other => &self.other_origins[usize::from(other) - 1].names,
        }
    }

    /// Whether connections to one of the target's destinations present the user's certificate.
    pub(crate) fn presents_identity(&self, origin: u16) -> bool {
        match origin {
            0 => true,
            other => self.other_origins[usize::from(other) - 1].is_at_host,
        }
    }

    /// The versions whose sessions may be offered.
    pub(crate) fn sessions_of(&self, offer: Offer) -> SessionVersions {
        match (offer, &self.offering) {
            (Offer::Nothing, _) => SessionVersions::NONE,
            (Offer::Session, _) => SessionVersions::ANY,
            (Offer::Recorded(kind), Offering::Recorded(hellos)) => hellos.sessions(kind),
            (Offer::Recorded(_), _) => SessionVersions::NONE,
        }
    }

    /// Whether the plan sends requests as early data.
    pub(crate) fn sends_early_data(&self) -> bool {
        self.configs.early.is_some()
    }

    /// Draws random bytes on this thread. aws-lc seeds a generator per thread at its first use,
    /// from CPU jitter, which takes milliseconds that no operation should see.
    pub(crate) fn seed_thread(&self) {
        // A source that fails now will fail again in the first handshake, and is counted there.
        let _ = self
            .configs
            .config
            .crypto_provider()
            .secure_random
            .fill(&mut [0; 32]);
    }
}

/// What servers beside the target are verified by, such as those that hand out tokens: the CA of
/// `tls.ca`, if the plan has one, and the machine's roots.
///
/// # Errors
/// There is neither, or the CA cannot be read.
pub fn roots_beside_target(plan: &Plan) -> Result<RootCertStore, TlsError> {
    let Some(ca) = plan.tls().and_then(|tls| tls.ca.as_ref()) else {
        return platform_roots();
    };
    let mut roots = read_roots(ca)?;
    if let Ok(platform) = platform_roots() {
        roots.extend(platform.roots);
    }
    Ok(roots)
}

fn roots(tls: &Tls) -> Result<RootCertStore, TlsError> {
    match &tls.ca {
        Some(ca) => read_roots(ca),
        None => platform_roots(),
    }
}

fn platform_roots() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // Some machines have unreadable roots; a single readable one is enough.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = found
            .errors
            .first()
            .map_or("there are none".to_owned(), ToString::to_string);
        return Err(TlsError::PlatformRoots(reason));
    }
    Ok(roots)
}

fn read_roots(ca: &File) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let error = |reason: String| TlsError::Certificates {
        field: "tls.ca",
        file: ca.name.clone(),
        reason,
    };
    for certificate in certificates(&ca.content).map_err(error)? {
        roots
            .add(certificate)
            .map_err(|_| error("what is in it cannot be parsed".to_owned()))?;
    }
    Ok(roots)
}

fn verifier(materials: &Materials, provider: &Arc<CryptoProvider>) -> Result<Verifier, TlsError> {
    let tls = &materials.tls;
    let schemes = signature_schemes(tls);
    let names_differ = materials.names.differ() || !materials.other_origins.is_empty();
    let accepted = AcceptedChains::new(names_differ);
    if tls.verify == Verify::None {
        return Ok(Verifier::new(
            tls.verify,
            accepted,
            schemes,
            None,
            Arc::clone(&materials.roots),
            Arc::clone(provider),
        ));
    }
    let full = WebPkiServerVerifier::builder_with_provider(
        Arc::clone(&materials.roots),
        Arc::clone(provider),
    )
    .build()
    .map_err(|error| TlsError::PlatformRoots(error.to_string()))?;
    Ok(Verifier::new(
        tls.verify,
        accepted,
        schemes,
        Some(full),
        Arc::clone(&materials.roots),
        Arc::clone(provider),
    ))
}

fn signature_schemes(tls: &Tls) -> Option<Vec<SignatureScheme>> {
    let schemes = tls.signatures.as_ref()?.iter();
    Some(schemes.map(|scheme| scheme.code.into()).collect())
}

fn provider(tls: &Tls) -> Result<CryptoProvider, TlsError> {
    let everything = aws_lc_rs::default_provider();
    let cipher_suites = tls
        .cipher_suites
        .iter()
        // The plan accepts only suites that exist here.
        .filter_map(|wanted| hkdf::suite(wanted.code))
        .collect();
    let kx_groups = tls
        .groups
        .iter()
        .map(|wanted| group(wanted.code, tls.key_exchange))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(CryptoProvider {
        cipher_suites,
        kx_groups: kx_groups.into_iter().flatten().collect(),
        ..everything
    })
}

fn group(
    code: u16,
    key_exchange: KeyExchange,
) -> Result<Option<&'static dyn SupportedKxGroup>, TlsError> {
    let cheap = match key_exchange {
        KeyExchange::Cheap => cheap::group(NamedGroup::from(code))?,
        KeyExchange::Fresh => None,
    };
    let fresh = || {
        aws_lc_rs::ALL_KX_GROUPS
            .iter()
            .find(|group| u16::from(group.name()) == code)
            .copied()
    };
    Ok(cheap.or_else(fresh))
}

impl HelloConfigs {
    fn new(config: ClientConfig, has_early_data: bool) -> HelloConfigs {
        let early = has_early_data.then(|| {
            let mut early = config.clone();
            early.enable_early_data = true;
            Arc::new(early)
        });
        HelloConfigs {
            config: Arc::new(config),
            early,
        }
    }
}

/// What is made for each format, once for those that are equal.
fn for_each<'a>(
    formats: impl Iterator<Item = &'a HelloFormat>,
    make: impl Fn(&HelloFormat) -> Result<HelloConfigs, TlsError>,
) -> Result<Vec<HelloConfigs>, TlsError> {
    let mut made: Vec<(&HelloFormat, HelloConfigs)> = Vec::new();
    let mut of_formats = Vec::new();
    for format in formats {
        let known = made.iter().find(|(known, _)| *known == format);
        let configs = match known {
            Some((_, configs)) => configs.clone(),
            None => make(format)?,
        };
        if known.is_none() {
            made.push((format, configs.clone()));
        }
        of_formats.push(configs);
    }
    Ok(of_formats)
}

/// The provider without suites of versions that are not offered.
fn of_versions(provider: &Arc<CryptoProvider>, format: &HelloFormat) -> Arc<CryptoProvider> {
    let offered: Vec<_> = versions(&format.versions);
    let mut own = CryptoProvider::clone(provider);
    own.cipher_suites
        .retain(|suite| offered.contains(&suite.version()));
    Arc::new(own)
}

fn versions(versions: &[TlsVersion]) -> Vec<&'static SupportedProtocolVersion> {
    let mut versions = versions.to_vec();
    versions.sort_unstable();
    versions.dedup();
    versions
        .into_iter()
        .map(|version| match version {
            TlsVersion::V12 => &rustls::version::TLS12,
            TlsVersion::V13 => &rustls::version::TLS13,
        })
        .collect()
}

fn resumption(tls: &Tls, store: Arc<dyn ClientSessionStore>) -> RustlsResumption {
    let tls12 = match tls.resumption {
        // The ticket extension is not sent either, so the server does no work for tickets that are
        // never used.
        Resumption::Never => Tls12Resumption::Disabled,
        Resumption::Share {
            kind: ResumptionKind::SessionId,
            ..
        } => Tls12Resumption::SessionIdOnly,
        Resumption::Recorded
        | Resumption::Share {
            kind: ResumptionKind::Any,
            ..
        } => Tls12Resumption::SessionIdOrTickets,
    };
    RustlsResumption::store(store).tls12_resumption(tls12)
}
