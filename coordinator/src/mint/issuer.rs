//! Issues client certificates (RFC 5280) in the name of a CA: byte for byte as its own certificate
//! writes that name, since servers find a CA by it. `rcgen` would write a name anew, and leaves out
//! all but one of several `DC=` or `OU=`.

use plan::SubjectAttribute;
use rustls::SignatureScheme;
use rustls::pki_types::{AlgorithmIdentifier, alg_id};
use rustls::sign::{Signer, SigningKey};
use std::sync::Arc;
use time::OffsetDateTime;
use yasna::models::{GeneralizedTime, ObjectIdentifier, TaggedDerValue, UTCTime};
use yasna::tags::TAG_SEQUENCE;
use yasna::{ASN1Result, BERReader, BERReaderSeq, DERWriter, Tag};

/// A CA's key, and what its certificate says that others have to repeat.
pub(super) struct Issuer {
    key: Arc<dyn SigningKey>,
    names: CaNames,
}

/// What a certificate says of its subject and its issuer.
pub(super) struct CaNames {
    subject: Vec<u8>,
    issuer: Vec<u8>,
    /// `None` if it has no extension for it.
    subject_key_identifier: Option<Vec<u8>>,
}

/// What a client certificate says.
pub(super) struct ClientLeaf<'a> {
    /// Attributes in the order of a certificate.
    pub(super) subject: &'a [(SubjectAttribute, String)],
    /// `SubjectPublicKeyInfo`, in DER.
    pub(super) public_key: &'a [u8],
    /// 1 to 20 bytes, of which the first is 1 to 127.
    pub(super) serial: &'a [u8],
    pub(super) not_before: OffsetDateTime,
    pub(super) not_after: OffsetDateTime,
}

/// The schemes that certificates are signed with; a key signs with the first that fits it.
const SCHEMES: [(SignatureScheme, AlgorithmIdentifier); 5] = [
    (SignatureScheme::RSA_PKCS1_SHA256, alg_id::RSA_PKCS1_SHA256),
    (SignatureScheme::ECDSA_NISTP256_SHA256, alg_id::ECDSA_SHA256),
    (SignatureScheme::ECDSA_NISTP384_SHA384, alg_id::ECDSA_SHA384),
    (SignatureScheme::ECDSA_NISTP521_SHA512, alg_id::ECDSA_SHA512),
    (SignatureScheme::ED25519, alg_id::ED25519),
];

const SUBJECT_KEY_IDENTIFIER: [u64; 4] = [2, 5, 29, 14];
const KEY_USAGE: [u64; 4] = [2, 5, 29, 15];
const AUTHORITY_KEY_IDENTIFIER: [u64; 4] = [2, 5, 29, 35];
const EXTENDED_KEY_USAGE: [u64; 4] = [2, 5, 29, 37];
const CLIENT_AUTH: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 3, 2];

impl Issuer {
    pub(super) fn new(key: Arc<dyn SigningKey>, names: CaNames) -> Issuer {
        Issuer { key, names }
    }

    /// The certificate in DER.
    pub(super) fn issue(&self, client: &ClientLeaf<'_>) -> Result<Vec<u8>, rustls::Error> {
        let (signer, algorithm) = self.signer()?;
        let content = yasna::construct_der(|writer| self.write_content(writer, client, algorithm));
        let signature = signer.sign(&content)?;
        Ok(yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_der(&content);
                write_algorithm(writer.next(), algorithm);
                writer
                    .next()
                    .write_bitvec_bytes(&signature, 8 * signature.len());
            });
        }))
    }

    fn signer(&self) -> Result<(Box<dyn Signer>, AlgorithmIdentifier), rustls::Error> {
        let offered = SCHEMES.map(|(scheme, _)| scheme);
        let signer = self.key.choose_scheme(&offered);
        let chosen = signer.and_then(|signer| {
            let (_, algorithm) = SCHEMES
                .into_iter()
                .find(|(scheme, _)| *scheme == signer.scheme())?;
            Some((signer, algorithm))
        });
        chosen.ok_or_else(|| rustls::Error::General("no certificate has such a signature".into()))
    }

    /// Writes a `TBSCertificate` (§4.1).
    fn write_content(
        &self,
        writer: DERWriter<'_>,
        client: &ClientLeaf<'_>,
        algorithm: AlgorithmIdentifier,
    ) {
        writer.write_sequence(|writer| {
            // Version 3.
            let version = writer.next();
            version.write_tagged(Tag::context(0), |writer| writer.write_u8(2));
            writer.next().write_bigint_bytes(client.serial, true);
            write_algorithm(writer.next(), algorithm);
            writer.next().write_der(&self.names.subject);
            writer.next().write_sequence(|writer| {
                write_time(writer.next(), client.not_before);
                write_time(writer.next(), client.not_after);
            });
            write_name(writer.next(), client.subject);
            writer.next().write_der(client.public_key);
            let extensions = writer.next();
            extensions.write_tagged(Tag::context(3), |writer| self.write_extensions(writer));
        });
    }

    fn write_extensions(&self, writer: DERWriter<'_>) {
        writer.write_sequence(|writer| {
            // A CA without an identifier is found by its name alone.
            if let Some(identifier) = &self.names.subject_key_identifier {
                write_extension(writer.next(), &AUTHORITY_KEY_IDENTIFIER, false, |writer| {
                    writer.write_sequence(|writer| {
                        let tag = Tag::context(0);
                        let identifier = |writer: DERWriter<'_>| writer.write_bytes(identifier);
                        writer.next().write_tagged_implicit(tag, identifier);
                    });
                });
            }
            // Bit 0 is `digitalSignature`.
            write_extension(writer.next(), &KEY_USAGE, true, |writer| {
                writer.write_bitvec_bytes(&[0b1000_0000], 1);
            });
            write_extension(writer.next(), &EXTENDED_KEY_USAGE, false, |writer| {
                writer.write_sequence(|writer| write_oid(writer.next(), &CLIENT_AUTH));
            });
        });
    }
}

impl CaNames {
    /// Reads a certificate.
    pub(super) fn read(der: &[u8]) -> ASN1Result<CaNames> {
        yasna::parse_der(der, |reader| {
            reader.read_sequence(|certificate| {
                let names = certificate.next().read_sequence(read_content)?;
                let _algorithm = certificate.next().read_der()?;
                let _signature = certificate.next().read_bitvec_bytes()?;
                Ok(names)
            })
        })
    }

    pub(super) fn are_of_one_party(&self) -> bool {
        self.subject == self.issuer
    }
}

/// Reads a `TBSCertificate` (§4.1).
fn read_content(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<CaNames> {
    let _version = reader
        .read_optional(|reader| reader.read_tagged(Tag::context(0), |reader| reader.read_u8()))?;
    let _serial = reader.next().read_der()?;
    let _algorithm = reader.next().read_der()?;
    let issuer = reader.next().read_der()?;
    let _validity = reader.next().read_der()?;
    let subject = reader.next().read_der()?;
    let _public_key = reader.next().read_der()?;
    // `issuerUniqueID` and `subjectUniqueID`, which version 2 brought.
    for tag in [1, 2].map(Tag::context) {
        let read = |reader: BERReader<'_, '_>| reader.read_bitvec_bytes();
        reader.read_optional(|reader| reader.read_tagged_implicit(tag, read))?;
    }
    let extensions = reader.read_optional(|reader| {
        reader.read_tagged(Tag::context(3), |reader| {
            reader.collect_sequence_of(read_extension)
        })
    })?;
    let identifier = extensions
        .into_iter()
        .flatten()
        .find(|(oid, _)| oid.components() == &SUBJECT_KEY_IDENTIFIER);
    let subject_key_identifier = identifier
        .map(|(_, content)| yasna::parse_der(&content, |reader| reader.read_bytes()))
        .transpose()?;
    Ok(CaNames {
        subject,
        issuer,
        subject_key_identifier,
    })
}

fn read_extension(reader: BERReader<'_, '_>) -> ASN1Result<(ObjectIdentifier, Vec<u8>)> {
    reader.read_sequence(|reader| {
        let oid = reader.next().read_oid()?;
        let _is_critical = reader.read_optional(|reader| reader.read_bool())?;
        Ok((oid, reader.next().read_bytes()?))
    })
}

fn write_oid(writer: DERWriter<'_>, components: &[u64]) {
    writer.write_oid(&ObjectIdentifier::from_slice(components));
}

fn write_algorithm(writer: DERWriter<'_>, algorithm: AlgorithmIdentifier) {
    let content = algorithm.as_ref().to_vec();
    writer.write_tagged_der(&TaggedDerValue::from_tag_and_bytes(TAG_SEQUENCE, content));
}

/// §4.1.2.5: years up to 2049 have two digits.
fn write_time(writer: DERWriter<'_>, at: OffsetDateTime) {
    if (1950..2050).contains(&at.year()) {
        writer.write_utctime(&UTCTime::from_datetime(at));
    } else {
        writer.write_generalized_time(&GeneralizedTime::from_datetime(at));
    }
}

fn write_name(writer: DERWriter<'_>, attributes: &[(SubjectAttribute, String)]) {
    writer.write_sequence(|writer| {
        for (attribute, value) in attributes {
            writer.next().write_set_of(|writer| {
                writer.next().write_sequence(|writer| {
                    write_oid(writer.next(), &[2, 5, 4, attribute_type(*attribute)]);
                    match attribute {
                        SubjectAttribute::Country => writer.next().write_printable_string(value),
                        _ => writer.next().write_utf8_string(value),
                    }
                });
            });
        }
    });
}

/// The last component of its identifier (RFC 5280, appendix A.1).
fn attribute_type(attribute: SubjectAttribute) -> u64 {
    match attribute {
        SubjectAttribute::CommonName => 3,
        SubjectAttribute::Country => 6,
        SubjectAttribute::Locality => 7,
        SubjectAttribute::State => 8,
        SubjectAttribute::Organization => 10,
        SubjectAttribute::OrganizationalUnit => 11,
    }
}

fn write_extension(
    writer: DERWriter<'_>,
    identifier: &[u64],
    is_critical: bool,
    content: impl FnOnce(DERWriter<'_>),
) {
    writer.write_sequence(|writer| {
        write_oid(writer.next(), identifier);
        if is_critical {
            writer.next().write_bool(true);
        }
        writer.next().write_bytes(&yasna::construct_der(content));
    });
}
