//! Reads `tls.client_certificates`: a list of pairs, a folder with pairs, or how to mint them.

use crate::read::certificate;
use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{ClientCertificate, ClientCertificates, Minting, Subject};
use std::sync::Arc;
use std::time::Duration;

/// Most pairs of files: their names and hashes are in the canonical text, whose size is limited.
const MAX_FILES: usize = 4000;
/// Most identities that are minted: 60 MB of them.
const MAX_MINTED: u32 = 100_000;
/// Names shown in a remark.
const SHOWN: usize = 5;
const VALIDITY: Duration = Duration::from_secs(24 * 3600);
const VALIDITY_MIN: Duration = Duration::from_secs(60);
const VALIDITY_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
const EXAMPLE: &str = "a folder, or a list such as [{ cert = \"a.pem\", key = \"a.key\" }]";

/// Paths of `tls.client_certificates`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "tls.client_certificates.cert",
    "tls.client_certificates.key",
    "tls.client_certificates.mint",
    "tls.client_certificates.ca",
    "tls.client_certificates.ca_key",
    "tls.client_certificates.subject",
    "tls.client_certificates.validity",
];

pub(crate) fn read(field: &Field<'_>) -> Option<ClientCertificates> {
    match &field.node.value {
        NodeValue::Table(_) => {
            minting(field.section()?).map(|minting| ClientCertificates::Mint(Box::new(minting)))
        }
        NodeValue::Text(folder) => few_enough(field, folder_of(field, folder)?),
        _ => few_enough(field, field.list_of(EXAMPLE, pair)?),
    }
}

fn few_enough(field: &Field<'_>, pairs: Vec<ClientCertificate>) -> Option<ClientCertificates> {
    let number = pairs.len();
    if number > MAX_FILES {
        field.problem(format_args!(
            "has {number} certificates; use at most {MAX_FILES}, or have them minted: {{ mint = \
             {number}, ca = \"ca.pem\", ca_key = \"ca.key\" }}"
        ));
        return None;
    }
    Some(ClientCertificates::Files(pairs))
}

fn pair(field: &Field<'_>) -> Option<ClientCertificate> {
    let section = field.section()?;
    require(
        &section,
        &["cert", "key"],
        "a client certificate is a pair such as { cert = \"a.pem\", key = \"a.key\" }",
    );
    let cert = section.read("cert", |field| certificate::chain(&field));
    let key = section.read("key", |field| certificate::key(&field));
    section.finish();
    Some(ClientCertificate {
        cert: cert?,
        key: key?,
    })
}

fn minting(section: PlanSection<'_>) -> Option<Minting> {
    let all = "minting takes { mint = 1000, ca = \"ca.pem\", ca_key = \"ca.key\" }";
    if section.has("cert") || section.has("key") {
        section.problem(
            "is one pair where a list of them belongs; write [{ cert = \"a.pem\", key = \"a.key\" \
             }]",
        );
        return None;
    }
    require(&section, &["mint", "ca", "ca_key"], all);
    let number = section.read("mint", |field| field.whole32(1..=MAX_MINTED));
    let ca = section.read("ca", |field| certificate::chain(&field));
    let ca_key = section.read("ca_key", |field| certificate::key(&field));
    // `Some` default if the key is absent, `None` if it is given and wrong.
    let subject = match section.field("subject") {
        Some(field) => field.parse::<Subject>("a name such as \"CN=user-{user}\""),
        None => Some(Subject::default()),
    };
    let validity = match section.field("validity") {
        Some(field) => field.duration(VALIDITY_MIN..=VALIDITY_MAX),
        None => Some(VALIDITY),
    };
    section.finish();
    let (subject, validity) = (subject?, validity?);
    Some(Minting {
        number: number?,
        ca: ca?,
        ca_key: ca_key?,
        subject,
        validity,
        minted: Arc::default(),
    })
}

fn require(section: &PlanSection<'_>, keys: &[&str], why: &str) {
    for key in keys.iter().filter(|key| !section.has(key)) {
        section.problem_at(key, format_args!("missing; {why}"));
    }
}

/// Reads every `NAME.pem` or `NAME.crt` that has a `NAME.key` beside it, by name. A key without a
/// certificate is a mistake; a certificate without a key can be a CA's.
fn folder_of(field: &Field<'_>, folder: &str) -> Option<Vec<ClientCertificate>> {
    let list = field.context.list(folder).map_err(|why| {
        field.problem(format_args!(
            "the folder {folder:?} cannot be listed: {why}; paths are relative to the plan file"
        ));
    });
    let mut names = list.ok()?;
    names.sort_unstable();
    let has = |name: &String| names.binary_search(name).is_ok();
    let keys: Vec<(&str, &String)> = names
        .iter()
        .filter_map(|name| Some((name.strip_suffix(".key")?, name)))
        .collect();
    if keys.is_empty() {
        field.problem(format_args!(
            "the folder {folder:?} has no pair of files NAME.pem (or NAME.crt) and NAME.key"
        ));
        return None;
    }
    let identity = |(stem, key): &(&str, &String)| {
        let [pem, crt] = [format!("{stem}.pem"), format!("{stem}.crt")];
        match (has(&pem), has(&crt)) {
            (true, false) => certificate::pair(field, &pem, key),
            (false, true) => certificate::pair(field, &crt, key),
            (true, true) => refuse(
                field,
                key,
                &format!("two certificates, {pem:?} and {crt:?}; keep one of them"),
            ),
            (false, false) => refuse(
                field,
                key,
                &format!("no certificate; put {pem:?} beside it, or remove it"),
            ),
        }
    };
    // One more than allowed is enough for the folder to be refused.
    let pairs: Vec<Option<ClientCertificate>> =
        keys.iter().take(MAX_FILES + 1).map(identity).collect();
    let is_alone = |name: &&String| {
        let stem = name
            .strip_suffix(".pem")
            .or_else(|| name.strip_suffix(".crt"));
        stem.is_some_and(|stem| !has(&format!("{stem}.key")))
    };
    note_unused(
        field,
        &names
            .iter()
            .filter(is_alone)
            .map(String::as_str)
            .collect::<Vec<&str>>(),
    );
    pairs.into_iter().collect()
}

fn refuse(field: &Field<'_>, key: &str, what: &str) -> Option<ClientCertificate> {
    field.problem(format_args!("the key {key:?} has {what}"));
    None
}

fn note_unused(field: &Field<'_>, names: &[&str]) {
    if names.is_empty() {
        return;
    }
    let (shown, more) = names.split_at(names.len().min(SHOWN));
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(" and {} more", more.len())
    };
    let shown = shown.join(", ");
    field.context.note(format!(
        "tls.client_certificates: not used, since no key of the same name stands beside: \
         {shown}{more}"
    ));
}
