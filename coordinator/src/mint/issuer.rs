//! Issues client certificates (RFC 5280) in the name of a CA: byte for byte as its own certificate
//! writes that name, since servers find a CA by it. `rcgen` would write a name anew, and leaves out
//! all but one of several `DC=` or `OU=`.

use plan::SubjectAttribute;
use rustls::SignatureScheme;
use rustls::pki_types::{AlgorithmIdentifier, CertificateDer, alg_id};
use rustls::server::ParsedCertificate;
use rustls::sign::{Signer, SigningKey};
use time::OffsetDateTime;
use yasna::models::{GeneralizedTime, ObjectIdentifier, TaggedDerValue, UTCTime};
use yasna::tags::TAG_SEQUENCE;
use yasna::{ASN1Result, BERReader, BERReaderSeq, DERWriter, Tag};

/// A CA's key, and what its certificate says that others have to repeat.
pub(super) struct Issuer {
    signer: Box<dyn Signer>,
    algorithm: AlgorithmIdentifier,
    fields: IssuerFields,
}

/// What a certificate says of who it is for and who issued it.
pub(super) struct IssuerFields {
    /// In DER, as `issuer`.
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
    /// `None` if the key is of a kind that signs no certificates.
    pub(super) fn new(key: &dyn SigningKey, fields: IssuerFields) -> Option<Issuer> {
        let signer = key.choose_scheme(&SCHEMES.map(|(scheme, _)| scheme))?;
        let (_, algorithm) = SCHEMES
            .into_iter()
            .find(|(scheme, _)| *scheme == signer.scheme())?;
        Some(Issuer {
            signer,
            algorithm,
            fields,
        })
    }

    /// The certificate in DER.
    ///
    /// # Errors
    /// There is no randomness.
    pub(super) fn issue(&self, client: &ClientLeaf<'_>) -> Result<Vec<u8>, rustls::Error> {
        let content = yasna::construct_der(|writer| self.write_content(writer, client));
        let signature = self.signer.sign(&content)?;
        Ok(yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_der(&content);
                write_algorithm(writer.next(), self.algorithm);
                writer
                    .next()
                    .write_bitvec_bytes(&signature, 8 * signature.len());
            });
        }))
    }

    /// Writes a `TBSCertificate` (§4.1).
    fn write_content(&self, writer: DERWriter<'_>, client: &ClientLeaf<'_>) {
        writer.write_sequence(|writer| {
            // Version 3.
            let version = writer.next();
            version.write_tagged(Tag::context(0), |writer| writer.write_u8(2));
            writer.next().write_bigint_bytes(client.serial, true);
            write_algorithm(writer.next(), self.algorithm);
            writer.next().write_der(&self.fields.subject);
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
            if let Some(identifier) = &self.fields.subject_key_identifier {
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

impl IssuerFields {
    /// Reads a certificate; `None` if it is none, or one that TLS has no use for, such as one of
    /// version 1.
    pub(super) fn read(certificate: &CertificateDer<'_>) -> Option<IssuerFields> {
        // `yasna` overflows at a length that is far beyond the end. Here all lengths are checked.
        ParsedCertificate::try_from(certificate).ok()?;
        let read = yasna::parse_der(certificate, |reader| {
            reader.read_sequence(|reader| {
                let fields = reader.next().read_sequence(read_content)?;
                let _algorithm = reader.next().read_der()?;
                let _signature = reader.next().read_bitvec_bytes()?;
                Ok(fields)
            })
        });
        read.ok()
    }

    /// Whether subject and issuer are one (§3.2).
    pub(super) fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }
}

/// Reads a `TBSCertificate` (§4.1).
fn read_content(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<IssuerFields> {
    let _version = reader
        .next()
        .read_tagged(Tag::context(0), |reader| reader.read_u8())?;
    let _serial = reader.next().read_der()?;
    let _algorithm = reader.next().read_der()?;
    let issuer = reader.next().read_der()?;
    let _validity = reader.next().read_der()?;
    let subject = reader.next().read_der()?;
    let _public_key = reader.next().read_der()?;
    let extensions = reader.read_optional(|reader| {
        reader.read_tagged(Tag::context(3), |reader| {
            reader.collect_sequence_of(read_extension)
        })
    })?;
    let wanted = yasna::construct_der(|writer| write_oid(writer, &SUBJECT_KEY_IDENTIFIER));
    let identifier = extensions
        .into_iter()
        .flatten()
        .find(|(identifier, _)| *identifier == wanted);
    let subject_key_identifier = identifier
        .map(|(_, content)| yasna::parse_der(&content, |reader| reader.read_bytes()))
        .transpose()?;
    Ok(IssuerFields {
        subject,
        issuer,
        subject_key_identifier,
    })
}

/// An extension's identifier in DER, and its content.
fn read_extension(reader: BERReader<'_, '_>) -> ASN1Result<(Vec<u8>, Vec<u8>)> {
    reader.read_sequence(|reader| {
        // Not as an identifier: `yasna` refuses some that others use.
        let identifier = reader.next().read_der()?;
        let _is_critical = reader.read_optional(|reader| reader.read_bool())?;
        Ok((identifier, reader.next().read_bytes()?))
    })
}

fn write_oid(writer: DERWriter<'_>, components: &[u64]) {
    writer.write_oid(&ObjectIdentifier::from_slice(components));
}

fn write_algorithm(writer: DERWriter<'_>, algorithm: AlgorithmIdentifier) {
    let content = algorithm.as_ref().to_vec();
    writer.write_tagged_der(&TaggedDerValue::from_tag_and_bytes(TAG_SEQUENCE, content));
}

/// §4.1.2.5: years up to 2049 have two digits, and no time has a fraction of a second.
fn write_time(writer: DERWriter<'_>, at: OffsetDateTime) {
    let at = at.truncate_to_second();
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

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair};
    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::pki_types::PrivateKeyDer;
    use x509_parser::prelude::*;

    /// A CA of its own name, with these extensions, and its key.
    fn issuer(extensions: Vec<CustomExtension>) -> Issuer {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ca");
        params.custom_extensions = extensions;
        let certificate = params.self_signed(&key).unwrap();
        let fields = IssuerFields::read(certificate.der()).unwrap();
        assert!(fields.is_self_issued());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let key = default_provider().key_provider.load_private_key(key);
        Issuer::new(key.unwrap().as_ref(), fields).unwrap()
    }

    fn issued(issuer: &Issuer, not_after: i64) -> Vec<u8> {
        let at = |seconds| OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let key = KeyPair::generate().unwrap();
        let client = ClientLeaf {
            subject: &[(SubjectAttribute::Country, "de".to_owned())],
            public_key: &rcgen::PublicKeyData::subject_public_key_info(&key),
            serial: &[0x40, 2],
            not_before: at(1_700_000_000),
            not_after: at(not_after) + std::time::Duration::from_millis(500),
        };
        issuer.issue(&client).unwrap()
    }

    #[test]
    fn certificate_says_what_another_reader_finds() {
        let identifier = yasna::construct_der(|writer| writer.write_bytes(&[7; 20]));
        let with_identifier =
            CustomExtension::from_oid_content(&SUBJECT_KEY_IDENTIFIER, identifier);
        // 2.5.29.16384 has a byte of 0x80 in its middle.
        let odd = CustomExtension::from_oid_content(&[2, 5, 29, 16_384], vec![5, 0]);
        for (extensions, expected) in [
            (vec![odd.clone()], None),
            (vec![odd, with_identifier], Some([7; 20])),
        ] {
            let der = issued(&issuer(extensions), 1_800_000_000);
            let (rest, read) = X509Certificate::from_der(&der).unwrap();
            assert!(rest.is_empty());
            assert_eq!(read.version(), X509Version::V3);
            assert_eq!(read.issuer().to_string(), "CN=ca");
            assert_eq!(read.subject().to_string(), "C=de");
            assert_eq!(read.raw_serial(), [0x40, 2]);
            let validity = read.validity();
            let seconds = [validity.not_before, validity.not_after].map(|at| at.timestamp());
            assert_eq!(seconds, [1_700_000_000, 1_800_000_000]);
            let usage = read.key_usage().unwrap().unwrap();
            assert!(usage.critical && usage.value.flags == 1, "{usage:?}");
            let extended = read.extended_key_usage().unwrap().unwrap().value;
            assert!(
                extended.client_auth && !extended.server_auth,
                "{extended:?}"
            );
            let authority =
                read.extensions()
                    .iter()
                    .find_map(|extension| match extension.parsed_extension() {
                        ParsedExtension::AuthorityKeyIdentifier(found) => {
                            found.key_identifier.as_ref()
                        }
                        _ => None,
                    });
            assert_eq!(
                authority.map(|found| found.0),
                expected.as_ref().map(|it| &it[..])
            );
        }
    }

    /// Tags and bytes of RFC 5280, §4.1.2.5.1 and §4.1.2.5.2.
    #[test]
    fn years_have_two_digits_up_to_2049_and_then_four() {
        for (seconds, expected) in [
            (2_524_607_999, &b"\x17\x0d491231235959Z"[..]),
            (2_524_608_000, &b"\x18\x0f20500101000000Z"[..]),
        ] {
            let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap();
            let at = at + std::time::Duration::from_nanos(1);
            assert_eq!(
                yasna::construct_der(|writer| write_time(writer, at)),
                expected
            );
        }
    }
}
