//! Reads files with certificates and keys. Only checks for PEM; whether a key fits is checked by
//! TLS.

use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::{Body, ClientCertificate, ClientCertificates, File, PrivateFile, Request};

const MAX_PEM_BYTES: usize = 4 << 20;
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// Reads the roots of `tls.ca`, which must not contain a private key.
pub(crate) fn authorities(field: &Field<'_>) -> Option<File> {
    let file = field.file(MAX_PEM_BYTES)?;
    holds(field, &file.name, &file.content, is_certificate)?;
    holds(field, &file.name, &file.content, has_no_key)?;
    Some(file)
}

/// Reads a private certificate or chain.
pub(crate) fn chain(field: &Field<'_>) -> Option<PrivateFile> {
    check(field, field.private_file(MAX_PEM_BYTES)?, is_certificate)
}

/// Reads a private key.
pub(crate) fn key(field: &Field<'_>) -> Option<PrivateFile> {
    check(field, field.private_file(MAX_PEM_BYTES)?, is_key)
}

/// Reads the pair of files `cert` and `key` on behalf of `field`.
pub(crate) fn pair(field: &Field<'_>, cert: &str, key: &str) -> Option<ClientCertificate> {
    let cert = check(
        field,
        field.private_file_of_name(cert, None, MAX_PEM_BYTES)?,
        is_certificate,
    );
    let key = check(
        field,
        field.private_file_of_name(key, None, MAX_PEM_BYTES)?,
        is_key,
    );
    Some(ClientCertificate {
        cert: cert?,
        key: key?,
    })
}

/// Files that every agent gets must not contain secrets.
fn has_no_key(text: &str) -> Result<(), &'static str> {
    if text.contains("PRIVATE KEY-----") {
        return Err(
            "holds a private key too, and is sent to every agent; name a file with the \
             certificates alone",
        );
    }
    Ok(())
}

/// Reports the first file that every agent gets and that has a client's, or a CA's, key: keys go
/// only to those who need them.
pub(crate) fn check_files(
    root: &PlanSection<'_>,
    requests: &[Request],
    certificates: &ClientCertificates,
) {
    let bodies = requests.iter().filter_map(|request| request.body.as_ref());
    let data = root.context.data().iter().map(|data| &data.file);
    let mut files = bodies.flat_map(Body::files).chain(data);
    let also = files.find_map(|file| {
        let mut private = certificates.private();
        let private = private.find(|private| private.sha256 == file.sha256)?;
        has_no_key(&String::from_utf8_lossy(&file.content)).err()?;
        Some((&file.name, &private.name))
    });
    if let Some((file, private)) = also {
        root.problem_at(
            "request",
            format!(
                "the file {file:?} holds a private key of tls.client_certificates too (there \
                 {private:?}), and every agent is sent all bodies and data; name another file"
            ),
        );
    }
}

/// A check of a text, with its complaint in words.
type Fault = fn(&str) -> Result<(), &'static str>;

/// Returns `file` if `fault` finds nothing wrong with its text; a file that is elsewhere was
/// checked there.
fn check(field: &Field<'_>, file: PrivateFile, fault: Fault) -> Option<PrivateFile> {
    if let Some(content) = file.bytes() {
        holds(field, &file.name, content, fault)?;
    }
    Some(file)
}

fn holds(field: &Field<'_>, name: &str, content: &[u8], fault: Fault) -> Option<()> {
    let looked = if content.is_empty() {
        Err("is empty")
    } else {
        fault(&String::from_utf8_lossy(content))
    };
    looked
        .map_err(|why| field.problem(format_args!("{name:?} {why}")))
        .ok()
}

fn is_certificate(text: &str) -> Result<(), &'static str> {
    if text.contains(CERTIFICATE) || text.contains("-----BEGIN TRUSTED CERTIFICATE-----") {
        return Ok(());
    }
    Err(
        "holds no certificate in PEM; convert DER with `openssl x509 -inform der -in FILE -out \
         FILE.pem`",
    )
}

fn is_key(text: &str) -> Result<(), &'static str> {
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
        || text.contains("Proc-Type: 4,ENCRYPTED")
    {
        return Err(
            "is encrypted with a passphrase, which nobody could type during a run; decrypt it \
             with `openssl pkey -in FILE -out FILE.key`",
        );
    }
    if text.contains("PRIVATE KEY-----") {
        return Ok(());
    }
    Err(
        "holds no private key in PEM; convert DER with `openssl pkey -inform der -in FILE -out \
         FILE.key`",
    )
}
