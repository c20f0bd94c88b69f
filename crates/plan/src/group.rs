//! The key-exchange groups that can be offered, under all their names, and why others cannot.

use crate::nearest::nearest;
use crate::{Group, TlsVersion};
use std::str::FromStr;

const fn group(code: u16, name: &'static str) -> Group {
    Group { code, name }
}

/// Other names of these groups, in lower case: NIST's, ANSI X9.62's, OpenSSL's.
const ALIASES: [(&str, u16); 8] = [
    ("p-256", 0x0017),
    ("p256", 0x0017),
    ("prime256v1", 0x0017),
    ("p-384", 0x0018),
    ("p384", 0x0018),
    ("curve25519", 0x001d),
    ("p256_mlkem768", 0x11eb),
    ("x25519_mlkem768", 0x11ec),
];

impl Group {
    /// The groups that rustls 0.23 with aws-lc-rs offers.
    pub const ALL: [Group; 7] = [
        group(0x001d, "X25519"),
        group(0x0017, "secp256r1"),
        group(0x0018, "secp384r1"),
        group(0x11ec, "X25519MLKEM768"),
        group(0x11eb, "SecP256r1MLKEM768"),
        group(0x0201, "MLKEM768"),
        group(0x0202, "MLKEM1024"),
    ];

    /// The groups offered by default: without ML-KEM, whose key pairs and 1,184-byte shares cost
    /// the client CPU time and traffic.
    pub const DEFAULT: [Group; 3] = [Group::ALL[0], Group::ALL[1], Group::ALL[2]];

    /// Whether the group can be used in `version`: ML-KEM only in TLS 1.3
    /// (draft-ietf-tls-ecdhe-mlkem).
    #[must_use]
    pub fn fits(self, version: TlsVersion) -> bool {
        version == TlsVersion::V13 || self.code < 0x0200
    }
}

/// Why a name is not a group that can be offered. The message continues a sentence that starts with
/// the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// A group that exists, but is missing in rustls with aws-lc-rs.
    #[error(
        "is a group that rustls with aws-lc-rs does not offer; write one of X25519, secp256r1, \
         secp384r1, X25519MLKEM768, or try `openssl s_client -groups`, which has more"
    )]
    Foreign,
    /// Not a group.
    #[error("is not a known group; write {0:?} or another of docs/PLAN.md")]
    Unknown(&'static str),
}

impl FromStr for Group {
    type Err = GroupError;

    /// Accepts IANA's names and common aliases, in any case.
    fn from_str(text: &str) -> Result<Group, GroupError> {
        let name = text.to_ascii_lowercase();
        let code = ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|&(_, code)| code);
        let found = Group::ALL
            .into_iter()
            .find(|group| group.name.eq_ignore_ascii_case(&name) || Some(group.code) == code);
        found.ok_or_else(|| {
            if is_foreign(&name) {
                GroupError::Foreign
            } else {
                GroupError::Unknown(nearest(&name, Group::ALL.iter().map(|group| group.name)))
            }
        })
    }
}

fn is_foreign(name: &str) -> bool {
    // Prefixes of families: finite fields, Brainpool, SECG, NIST, ML-KEM, GOST and SM2.
    let families = [
        "ffdhe",
        "brainpool",
        "sect",
        "secp",
        "x448",
        "p-5",
        "p5",
        "p-2",
        "p2",
        "mlkem",
        "secp384r1mlkem",
        "gc",
        "sm2",
        "curvesm2",
    ];
    families.iter().any(|family| name.starts_with(family))
        && name.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Group, GroupError};

    #[test]
    fn groups_are_known_by_their_names() {
        let cases = [
            ("X25519", 0x1d),
            ("x25519", 0x1d),
            ("secp256r1", 0x17),
            ("P-256", 0x17),
            ("prime256v1", 0x17),
            ("secp384r1", 0x18),
            ("P-384", 0x18),
            ("X25519MLKEM768", 0x11ec),
            ("SecP256r1MLKEM768", 0x11eb),
            ("MLKEM768", 0x201),
            ("MLKEM1024", 0x202),
        ];
        for (name, code) in cases {
            assert_eq!(
                name.parse().map(|group: Group| group.code),
                Ok(code),
                "{name}"
            );
        }
        for name in [
            "secp256k1",
            "secp521r1",
            "P-521",
            "X448",
            "ffdhe2048",
            "brainpoolP256r1",
            "SecP384r1MLKEM1024",
            "MLKEM512",
        ] {
            assert_eq!(name.parse::<Group>(), Err(GroupError::Foreign), "{name}");
        }
        assert_eq!(
            "X25591".parse::<Group>(),
            Err(GroupError::Unknown("X25519"))
        );
    }
}
