//! The cipher suites that can be offered, under all their names, and why others cannot.

use crate::nearest::nearest;
use crate::{CipherSuite, TlsVersion};
use std::fmt;
use std::str::FromStr;

const fn suite(code: u16, name: &'static str) -> CipherSuite {
    CipherSuite { code, name }
}

/// OpenSSL's names of the TLS 1.2 suites; its names of the TLS 1.3 suites are IANA's.
const OPENSSL: [(&str, u16); 6] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", 0xc02c),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", 0xc02b),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", 0xcca9),
    ("ECDHE-RSA-AES256-GCM-SHA384", 0xc030),
    ("ECDHE-RSA-AES128-GCM-SHA256", 0xc02f),
    ("ECDHE-RSA-CHACHA20-POLY1305", 0xcca8),
];

impl CipherSuite {
    /// The suites that rustls 0.23 with aws-lc-rs offers, in its order of preference.
    pub const ALL: [CipherSuite; 9] = [
        suite(0x1302, "TLS_AES_256_GCM_SHA384"),
        suite(0x1301, "TLS_AES_128_GCM_SHA256"),
        suite(0x1303, "TLS_CHACHA20_POLY1305_SHA256"),
        suite(0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        suite(0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        suite(0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
        suite(0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
        suite(0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        suite(0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ];

    /// The only version that the suite belongs to.
    #[must_use]
    pub fn version(self) -> TlsVersion {
        if self.code >> 8 == 0x13 {
            TlsVersion::V13
        } else {
            TlsVersion::V12
        }
    }
}

/// Why a name is not a suite that can be offered, and what to write instead or which tool supports
/// it. The message continues a sentence that starts with the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CipherSuiteError {
    /// RSA key exchange.
    RsaKeyExchange,
    /// Finite-field Diffie-Hellman (DHE).
    Dhe,
    /// Static elliptic-curve Diffie-Hellman.
    StaticEcdh,
    /// Block ciphers in CBC mode.
    Cbc,
    /// Long broken: RC4, DES, 3DES, export, NULL, anonymous, MD5.
    Broken,
    /// Keys or passwords that both sides share in advance.
    PreShared,
    /// AES-CCM, ARIA, Camellia, GOST: rustls has none of these.
    Foreign,
    /// A list or class in OpenSSL's syntax.
    OpensslList,
    /// An unknown name; contains the nearest one.
    Unknown(&'static str),
}

impl FromStr for CipherSuite {
    type Err = CipherSuiteError;

    /// Accepts IANA's, OpenSSL's and rustls's names, in any case.
    fn from_str(text: &str) -> Result<CipherSuite, CipherSuiteError> {
        let name = text.to_ascii_uppercase();
        let code = OPENSSL
            .iter()
            .find(|(openssl, _)| *openssl == name)
            .map(|&(_, code)| code);
        let iana = name.replacen("TLS13_", "TLS_", 1);
        let found = CipherSuite::ALL
            .into_iter()
            .find(|suite| suite.name == iana || Some(suite.code) == code);
        found.ok_or_else(|| refusal(&name))
    }
}

/// Why there is no suite of this name, which is in upper case.
fn refusal(name: &str) -> CipherSuiteError {
    use CipherSuiteError::{
        Broken, Cbc, Dhe, Foreign, OpensslList, PreShared, RsaKeyExchange, StaticEcdh,
    };
    if name.contains([':', '!', '+', '@', ',', ' '])
        || ["HIGH", "DEFAULT", "ALL", "MEDIUM", "LOW"].contains(&name)
    {
        return OpensslList;
    }
    let parts: Vec<&str> = name.split(['-', '_']).collect();
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
    // The first rule that holds gives the reason: a broken cipher counts before the key exchange.
    let rules = [
        (
            has(&[
                "RC4", "DES", "3DES", "CBC3", "EXP", "EXPORT", "NULL", "ANON", "ADH", "AECDH",
                "MD5", "IDEA", "SEED", "RC2",
            ]),
            Broken,
        ),
        (has(&["PSK", "SRP", "KRB5"]), PreShared),
        (
            has(&[
                "CCM",
                "CCM8",
                "ARIA",
                "ARIA128",
                "ARIA256",
                "CAMELLIA",
                "CAMELLIA128",
                "CAMELLIA256",
                "GOST",
            ]),
            Foreign,
        ),
        (has(&["DHE", "EDH", "DH"]), Dhe),
        (has(&["ECDH"]), StaticEcdh),
        (
            name.starts_with("TLS_RSA_")
                || name.starts_with("AES128-")
                || name.starts_with("AES256-"),
            RsaKeyExchange,
        ),
        (
            has(&["CBC"])
                || (has(&["ECDHE"])
                    && has(&["SHA", "SHA256", "SHA384"])
                    && !has(&["GCM", "CHACHA20"])),
            Cbc,
        ),
    ];
    rules.into_iter().find(|(holds, _)| *holds).map_or_else(
        || {
            CipherSuiteError::Unknown(nearest(
                name,
                CipherSuite::ALL.iter().map(|suite| suite.name),
            ))
        },
        |(_, error)| error,
    )
}

impl fmt::Display for CipherSuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            CipherSuiteError::RsaKeyExchange => {
                "encrypts a secret with the server's RSA key, without forward secrecy"
            }
            CipherSuiteError::Dhe => "exchanges keys over a finite field",
            CipherSuiteError::StaticEcdh => {
                "uses the server's long-term key for the exchange, without forward secrecy"
            }
            CipherSuiteError::Cbc => "encrypts in CBC mode, which has a history of padding attacks",
            CipherSuiteError::Broken => "is broken (RFC 9325 §4.1)",
            CipherSuiteError::Foreign => "belongs to CCM, ARIA, Camellia or GOST",
            CipherSuiteError::PreShared => {
                return f.write_str(
                    "wants a key or password that both sides know beforehand, and rustls does not \
                     offer it; remove it, or use a tool on OpenSSL such as `openssl s_client -psk`",
                );
            }
            CipherSuiteError::OpensslList => {
                return f.write_str(
                    "is a list in OpenSSL's language; write the names one by one, such as \
                     [\"TLS_AES_128_GCM_SHA256\"]",
                );
            }
            CipherSuiteError::Unknown(nearest) => {
                return write!(
                    f,
                    "is not a known cipher suite; write {nearest:?} or another of docs/PLAN.md"
                );
            }
        };
        // Current OpenSSL is built without broken suites.
        let openssl = if *self == CipherSuiteError::Broken {
            "an old OpenSSL"
        } else {
            "OpenSSL"
        };
        write!(
            f,
            "{why}, and rustls does not offer it; remove it, or use a tool on {openssl} such as \
             `openssl s_time -cipher` or `ab -Z`"
        )
    }
}

impl std::error::Error for CipherSuiteError {}

#[cfg(test)]
mod tests {
    use super::{CipherSuite, CipherSuiteError, OPENSSL};

    #[test]
    fn every_suite_is_known_by_all_its_names() {
        for suite in CipherSuite::ALL {
            let rustls = if suite.code >> 8 == 0x13 {
                suite.name.replacen("TLS_", "TLS13_", 1)
            } else {
                suite.name.to_owned()
            };
            for name in [suite.name, &rustls, &suite.name.to_ascii_lowercase()] {
                assert_eq!(name.parse(), Ok(suite), "{name}");
            }
        }
        for (name, code) in OPENSSL {
            assert_eq!(
                name.parse().map(|suite: CipherSuite| suite.code),
                Ok(code),
                "{name}"
            );
        }
    }

    #[test]
    fn what_cannot_be_offered_has_its_reason() {
        use CipherSuiteError::{
            Broken, Cbc, Dhe, Foreign, OpensslList, PreShared, RsaKeyExchange, StaticEcdh,
        };
        let cases = [
            ("AES128-SHA", RsaKeyExchange),
            ("AES256-GCM-SHA384", RsaKeyExchange),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", RsaKeyExchange),
            ("DHE-RSA-AES256-GCM-SHA384", Dhe),
            ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", Dhe),
            ("TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", StaticEcdh),
            ("ECDHE-RSA-AES128-SHA", Cbc),
            ("ECDHE-ECDSA-AES256-SHA384", Cbc),
            ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", Cbc),
            ("RC4-SHA", Broken),
            ("DES-CBC3-SHA", Broken),
            ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", Broken),
            ("ECDHE-RSA-NULL-SHA", Broken),
            ("TLS_AES_128_CCM_SHA256", Foreign),
            ("ECDHE-ARIA256-GCM-SHA384", Foreign),
            ("CAMELLIA128-SHA", Foreign),
            ("PSK-AES128-CBC-SHA", PreShared),
            ("TLS_ECDHE_PSK_WITH_AES_128_GCM_SHA256", PreShared),
            ("SRP-RSA-AES-128-CBC-SHA", PreShared),
            ("HIGH:!aNULL", OpensslList),
            (
                "TLS_AES_128_GCM_SHA265",
                CipherSuiteError::Unknown("TLS_AES_128_GCM_SHA256"),
            ),
        ];
        for (name, why) in cases {
            assert_eq!(name.parse::<CipherSuite>(), Err(why), "{name}");
        }
    }
}
