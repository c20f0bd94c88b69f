//! Mints client identities before a run: P-256 keys with certificates from the plan's CA, whose key
//! stays in this process.

mod issuer;

use issuer::{ClientLeaf, Issuer, IssuerFields};
use plan::{Minted, MintedIdentity, Minting, Plan, PrivateFile, Subject, SubjectAttribute};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData as _};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// How far a server's clock may be behind ours.
const BEFORE: Duration = Duration::from_secs(3600);
/// How much longer certificates are valid than asked for: the validity counts from the beginning of
/// the run, which comes a little after minting, and operations that have begun are drained.
const BEYOND: Duration = Duration::from_secs(2 * 3600);

/// A CA that is ready to issue.
pub(crate) struct Mint {
    issuer: Issuer,
    chain: Vec<Vec<u8>>,
    subject: Subject,
    validity: Duration,
}

/// Why nothing can be minted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MintError {
    /// The file holds no certificate.
    #[error("tls.client_certificates.ca: {file} holds no usable certificate; give the CA's in PEM")]
    Certificate {
        /// The file as the plan names it.
        file: String,
    },
    /// The file holds no key.
    #[error(
        "tls.client_certificates.ca_key: {file} holds no usable private key; give an unencrypted \
         RSA, ECDSA or Ed25519 key in PEM"
    )]
    Key {
        /// The file as the plan names it.
        file: String,
    },
    /// Certificate and key are of two pairs.
    #[error(
        "tls.client_certificates.ca_key: {key} is not the key of the first certificate in {ca}; \
         give the two of one CA"
    )]
    Pair {
        /// The certificate's file, as the plan names it.
        ca: String,
        /// The key's file, as the plan names it.
        key: String,
    },
    /// There is no randomness for a key.
    #[error("a client's key cannot be made: {0}")]
    Generate(#[from] rcgen::Error),
    /// There is no randomness for a serial number or a signature.
    #[error("a client certificate cannot be made: {0}")]
    Sign(#[from] rustls::Error),
}

/// Says why the plan's identities cannot be minted, if they cannot.
pub(crate) fn problem(plan: &Plan) -> Option<String> {
    let minting = plan.tls()?.client_certificates.minting()?;
    Mint::open(minting).err().map(|error| error.to_string())
}

impl Mint {
    /// Reads certificate and key, and checks that they belong together.
    pub(crate) fn open(minting: &Minting) -> Result<Mint, MintError> {
        let ca = &minting.ca;
        let ca_key = &minting.ca_key;
        let bad_certificate = || MintError::Certificate {
            file: ca.name.clone(),
        };
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(content(ca))
                .collect::<Result<_, _>>()
                .map_err(|_| bad_certificate())?;
        let first = certificates.first().ok_or_else(bad_certificate)?.clone();
        let fields = IssuerFields::read(&first).ok_or_else(bad_certificate)?;
        let bad_key = || MintError::Key {
            file: ca_key.name.clone(),
        };
        let key = key(ca_key, first).ok_or_else(bad_key)?;
        let key = key.ok_or_else(|| MintError::Pair {
            ca: ca.name.clone(),
            key: ca_key.name.clone(),
        })?;
        // A self-issued root may be left out, since servers have it (RFC 8446 §4.4.2).
        let chain = certificates
            .iter()
            .filter(|der| !is_self_issued(der))
            .map(|der| der.to_vec())
            .collect();
        Ok(Mint {
            issuer: Issuer::new(key.as_ref(), fields).ok_or_else(bad_key)?,
            chain,
            subject: minting.subject.clone(),
            validity: minting.validity,
        })
    }

    /// Mints identities with these numbers.
    pub(crate) fn identities(
        &self,
        numbers: &BTreeSet<usize>,
    ) -> Result<BTreeMap<u32, MintedIdentity>, MintError> {
        let now = OffsetDateTime::now_utc();
        let identity = |&number: &usize| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let certificate = self.issuer.issue(&ClientLeaf {
                subject: &name(&self.subject, number),
                public_key: &key.subject_public_key_info(),
                serial: &serial()?,
                not_before: now - BEFORE,
                not_after: now + self.validity + BEYOND,
            })?;
            let identity = MintedIdentity {
                certificate,
                key: key.serialize_der().into(),
            };
            Ok((number, identity))
        };
        numbers.iter().map(identity).collect()
    }

    /// Returns those of `all` that have these numbers, with the chain that is sent after each
    /// certificate.
    pub(crate) fn share(
        &self,
        all: &BTreeMap<u32, MintedIdentity>,
        numbers: &BTreeSet<usize>,
    ) -> Minted {
        let is_theirs = |number: u32| numbers.contains(&(number as usize));
        let own = all
            .iter()
            .filter(|(number, _)| is_theirs(**number))
            .map(|(number, identity)| (*number, identity.clone()));
        Minted {
            chain: self.chain.clone(),
            identities: own.collect(),
        }
    }
}

/// The content of a file of the plan, which was read in this process.
fn content(file: &PrivateFile) -> &[u8] {
    file.bytes().unwrap_or_default()
}

/// Reads the key. The outer `None` means that it is not a key, the inner one that it belongs to
/// another certificate.
#[expect(clippy::option_option, reason = "two things can be wrong")]
fn key(
    file: &PrivateFile,
    certificate: CertificateDer<'static>,
) -> Option<Option<Arc<dyn SigningKey>>> {
    let der = PrivateKeyDer::from_pem_slice(content(file)).ok()?;
    let key = default_provider().key_provider.load_private_key(der).ok()?;
    let pair = CertifiedKey::new(vec![certificate], key);
    Some(pair.keys_match().is_ok().then_some(pair.key))
}

fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    IssuerFields::read(certificate).is_some_and(|fields| fields.is_self_issued())
}

/// In a certificate the attributes are in reverse order (RFC 4514 §2.1).
fn name(subject: &Subject, number: u32) -> Vec<(SubjectAttribute, String)> {
    let mut attributes: Vec<_> = subject.attributes(number).collect();
    attributes.reverse();
    attributes
}

/// A number that no other certificate of the CA has: 16 random bytes (RFC 5280 §4.1.2.2).
fn serial() -> Result<[u8; 16], rustls::Error> {
    let mut bytes = [0; 16];
    default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
    // A positive number without zeros in front.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Files;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyUsagePurpose};
    use rustls::server::WebPkiClientVerifier;
    use std::sync::Arc;

    /// A root, an intermediate CA under it, and a key of neither.
    struct Folder {
        root: CertificateDer<'static>,
        files: BTreeMap<&'static str, String>,
    }

    impl Files for Folder {
        fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
            self.files
                .get(name)
                .map(|text| text.as_bytes().into())
                .ok_or_else(|| "no such file".to_owned())
        }
    }

    fn authority(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    fn folder() -> Folder {
        let root_key = KeyPair::generate().unwrap();
        let root = authority("root").self_signed(&root_key).unwrap();
        let key = KeyPair::generate().unwrap();
        let middle = authority("middle")
            .signed_by(&key, &rcgen::Issuer::new(authority("root"), &root_key))
            .unwrap();
        let stranger = KeyPair::generate().unwrap().serialize_pem();
        let files = [
            ("root.pem", root.pem()),
            ("root.key", root_key.serialize_pem()),
            ("middle.pem", middle.pem() + &root.pem()),
            ("middle.key", key.serialize_pem()),
            ("stranger.key", stranger),
            (
                "broken.pem",
                "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".to_owned(),
            ),
            (
                // A serial number that is longer than there are bytes.
                "overlong.pem",
                "-----BEGIN CERTIFICATE-----\nMAwwCgKI//////////8=\n-----END CERTIFICATE-----\n"
                    .to_owned(),
            ),
            (
                "broken.key",
                "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n".to_owned(),
            ),
        ];
        Folder {
            root: root.der().clone(),
            files: files.into(),
        }
    }

    fn plan(ca: &str, key: &str, folder: &mut Folder) -> Plan {
        let tls = format!(
            "{{ mint = 5, ca = {ca:?}, ca_key = {key:?}, subject = \"CN=u{{user}},O=Example\", \
             validity = \"7200500ms\" }}"
        );
        let text = format!(
            "target.url = \"https://a.test\"\nload = {{ connections = 4, requests = 4 \
             }}\ntls.client_certificates = {tls}"
        );
        Plan::parse(&text, folder).unwrap()
    }

    fn minting(plan: &Plan) -> &Minting {
        plan.tls().unwrap().client_certificates.minting().unwrap()
    }

    #[test]
    fn minted_identities_are_what_a_server_that_trusts_the_ca_accepts() {
        let mut folder = folder();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(folder.root.clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::new(default_provider()))
                .build()
                .unwrap();
        for (ca, key, behind) in [("root.pem", "root.key", 0), ("middle.pem", "middle.key", 1)] {
            let plan = plan(ca, key, &mut folder);
            let mint = Mint::open(minting(&plan)).unwrap();
            let all = mint.identities(&BTreeSet::from([0, 3, 4])).unwrap();
            let minted = mint.share(&all, &BTreeSet::from([3, 4]));
            assert_eq!(
                (
                    minted.chain.len(),
                    minted.identities.keys().copied().collect::<Vec<_>>()
                ),
                (behind, vec![3, 4])
            );
            let behind: Vec<CertificateDer<'_>> = minted
                .chain
                .iter()
                .map(|der| der.as_slice().into())
                .collect();
            for (number, identity) in &minted.identities {
                let leaf = CertificateDer::from(identity.certificate.as_slice());
                verifier
                    .verify_client_cert(&leaf, &behind, rustls::pki_types::UnixTime::now())
                    .unwrap();
                let (_, parsed) =
                    x509_parser::parse_x509_certificate(&identity.certificate).unwrap();
                assert_eq!(
                    parsed.subject().to_string(),
                    format!("O=Example, CN=u{number}")
                );
                let key = PrivateKeyDer::try_from(identity.key.reveal().clone()).unwrap();
                let key = default_provider()
                    .key_provider
                    .load_private_key(key)
                    .unwrap();
                assert!(
                    CertifiedKey::new(vec![leaf.into_owned()], key)
                        .keys_match()
                        .is_ok()
                );
            }
            assert_ne!(minted.identities[&3].key, minted.identities[&4].key);
        }
    }

    #[test]
    fn ca_that_cannot_issue_is_a_problem_of_the_plan() {
        let mut folder = folder();
        for (ca, key, message) in [
            ("root.pem", "root.key", None),
            (
                "root.pem",
                "stranger.key",
                Some(
                    "tls.client_certificates.ca_key: stranger.key is not the key of the first \
                     certificate in root.pem; give the two of one CA",
                ),
            ),
            (
                "broken.pem",
                "root.key",
                Some(
                    "tls.client_certificates.ca: broken.pem holds no usable certificate; give the \
                     CA's in PEM",
                ),
            ),
            (
                "overlong.pem",
                "root.key",
                Some(
                    "tls.client_certificates.ca: overlong.pem holds no usable certificate; give \
                     the CA's in PEM",
                ),
            ),
            (
                "root.pem",
                "broken.key",
                Some(
                    "tls.client_certificates.ca_key: broken.key holds no usable private key; give \
                     an unencrypted RSA, ECDSA or Ed25519 key in PEM",
                ),
            ),
        ] {
            assert_eq!(
                problem(&plan(ca, key, &mut folder)).as_deref(),
                message,
                "{ca} {key}"
            );
        }
    }
}
