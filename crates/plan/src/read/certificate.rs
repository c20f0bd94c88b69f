//! Reads the files of `[tls]`: roots, client certificates, keys. Looks only for PEM; whether a key fits is TLS's to say.

use crate::read::field::Field;
use crate::read::node::Value;
use crate::{ClientCertificate, File, PrivateFile};

const MAX_PEM_BYTES: usize = 4 << 20;
const MAX_IDENTITIES: usize = 4000;
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// `tls.ca`.
pub(crate) fn authorities(field: &Field<'_>) -> Option<File> {
    let file = field.file(MAX_PEM_BYTES)?;
    holds(field, &file.name, &file.content, is_certificate)?;
    Some(file)
}

/// `tls.client_certificates`: a list of pairs, or a folder of them.
pub(crate) fn client_identities(field: &Field<'_>) -> Option<Vec<ClientCertificate>> {
    let identities = match &field.node.value {
        Value::Text(folder) => of_folder(field, folder)?,
        _ => field.list_of("a folder, or a list such as [{ cert = \"a.pem\", key = \"a.key\" }]", pair)?,
    };
    if identities.len() > MAX_IDENTITIES {
        field.problem(format_args!("has {} certificates; use at most {MAX_IDENTITIES}", identities.len()));
        return None;
    }
    Some(identities)
}

fn pair(field: &Field<'_>) -> Option<ClientCertificate> {
    let section = field.section()?;
    for key in ["cert", "key"] {
        if !section.has(key) {
            section.problem_at(key, "missing; a client certificate is a pair such as { cert = \"a.pem\", key = \"a.key\" }");
        }
    }
    let cert = section.read("cert", |field| checked(&field, field.private_file(MAX_PEM_BYTES)?, is_certificate));
    let key = section.read("key", |field| checked(&field, field.private_file(MAX_PEM_BYTES)?, is_key));
    section.finish();
    Some(ClientCertificate { cert: cert?, key: key? })
}

/// Every `NAME.pem` or `NAME.crt` that has a `NAME.key` beside it, by name.
fn of_folder(field: &Field<'_>, folder: &str) -> Option<Vec<ClientCertificate>> {
    let mut names = match field.context.list(folder) {
        Ok(names) => names,
        Err(why) => {
            field.problem(format_args!("the folder {folder:?} cannot be listed: {why}; paths are relative to the plan file"));
            return None;
        }
    };
    names.sort_unstable();
    let pairs: Vec<(&str, String)> = names.iter().filter_map(|cert| Some((cert.as_str(), key_of(cert, &names)?))).collect();
    if pairs.is_empty() {
        field.problem(format_args!("the folder {folder:?} has no pair of files NAME.pem (or NAME.crt) and NAME.key"));
        return None;
    }
    let identity = |(cert, key): (&str, String)| {
        let cert = checked(field, field.named_private_file(cert, None, MAX_PEM_BYTES)?, is_certificate);
        let key = checked(field, field.named_private_file(&key, None, MAX_PEM_BYTES)?, is_key);
        Some(ClientCertificate { cert: cert?, key: key? })
    };
    let identities: Vec<Option<ClientCertificate>> = pairs.into_iter().take(MAX_IDENTITIES + 1).map(identity).collect();
    identities.into_iter().collect()
}

fn key_of(cert: &str, names: &[String]) -> Option<String> {
    let stem = cert.strip_suffix(".pem").or_else(|| cert.strip_suffix(".crt"))?;
    Some(format!("{stem}.key")).filter(|key| names.contains(key))
}

/// What is wrong with a text, in words.
type Fault = fn(&str) -> Result<(), &'static str>;

/// `file`, where `fault` finds nothing wrong with its text; one that is elsewhere was looked at there.
fn checked(field: &Field<'_>, file: PrivateFile, fault: Fault) -> Option<PrivateFile> {
    if let Some(content) = &file.content {
        holds(field, &file.name, content, fault)?;
    }
    Some(file)
}

fn holds(field: &Field<'_>, name: &str, content: &[u8], fault: Fault) -> Option<()> {
    fault(&String::from_utf8_lossy(content)).map_err(|why| field.problem(format_args!("{name:?} {why}"))).ok()
}

fn is_certificate(text: &str) -> Result<(), &'static str> {
    if text.contains(CERTIFICATE) || text.contains("-----BEGIN TRUSTED CERTIFICATE-----") {
        return Ok(());
    }
    Err("holds no certificate in PEM; convert DER with `openssl x509 -inform der -in FILE -out FILE.pem`")
}

fn is_key(text: &str) -> Result<(), &'static str> {
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(
            "is encrypted with a passphrase, which nobody could type during a run; decrypt it with `openssl pkey -in FILE -out FILE.key`",
        );
    }
    if text.contains("PRIVATE KEY-----") {
        return Ok(());
    }
    Err("holds no private key in PEM; convert DER with `openssl pkey -inform der -in FILE -out FILE.key`")
}
