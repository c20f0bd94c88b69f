//! IANA's names of TLS code points, for reports. 0 ("none") is empty, a code without a name here is
//! hexadecimal. Source: the registries "TLS Parameters" and "TLS Extensions" of IANA; X25519 and
//! X448 are written as RFC 7748 does.

use std::borrow::Cow;

/// Name of a protocol version, such as `TLS 1.3`.
#[must_use]
pub fn version_name(code: u16) -> Cow<'static, str> {
    name_of(&VERSIONS, code)
}

/// Name of a cipher suite, such as `TLS_AES_256_GCM_SHA384`.
#[must_use]
pub fn suite_name(code: u16) -> Cow<'static, str> {
    name_of(&SUITES, code)
}

/// Name of a key exchange group, such as `X25519` or `secp256r1`.
#[must_use]
pub fn group_name(code: u16) -> Cow<'static, str> {
    name_of(&GROUPS, code)
}

/// Name of a signature scheme, such as `ecdsa_secp256r1_sha256`.
#[must_use]
pub fn signature_scheme_name(code: u16) -> Cow<'static, str> {
    name_of(&SIGNATURE_SCHEMES, code)
}

/// Name of an alert, such as `handshake_failure`; a code without one is `alert_254`.
#[must_use]
pub fn alert_name(code: u8) -> Cow<'static, str> {
    find_name(&ALERTS, code).map_or_else(
        || Cow::Owned(format!("{UNNAMED_ALERT}{code}")),
        Cow::Borrowed,
    )
}

/// The inverse of [`alert_name`].
#[must_use]
pub fn alert_code(name: &str) -> Option<u8> {
    let named = ALERTS
        .iter()
        .find(|(_, known)| *known == name)
        .map(|&(code, _)| code);
    named.or_else(|| name.strip_prefix(UNNAMED_ALERT)?.parse().ok())
}

const UNNAMED_ALERT: &str = "alert_";

fn name_of(names: &[(u16, &'static str)], code: u16) -> Cow<'static, str> {
    match (code, find_name(names, code)) {
        (0, _) => Cow::Borrowed(""),
        (_, Some(name)) => Cow::Borrowed(name),
        (_, None) => Cow::Owned(format!("{code:#06x}")),
    }
}

fn find_name<C: Copy + PartialEq>(names: &[(C, &'static str)], code: C) -> Option<&'static str> {
    names
        .iter()
        .find(|(known, _)| *known == code)
        .map(|&(_, name)| name)
}

const VERSIONS: [(u16, &str); 5] = [
    (0x0300, "SSL 3.0"),
    (0x0301, "TLS 1.0"),
    (0x0302, "TLS 1.1"),
    (0x0303, "TLS 1.2"),
    (0x0304, "TLS 1.3"),
];

/// What TLS 1.3 and 1.2 clients and servers of today negotiate.
const SUITES: [(u16, &str); 36] = [
    (0x1301, "TLS_AES_128_GCM_SHA256"),
    (0x1302, "TLS_AES_256_GCM_SHA384"),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256"),
    (0x1304, "TLS_AES_128_CCM_SHA256"),
    (0x1305, "TLS_AES_128_CCM_8_SHA256"),
    (0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    (0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    (0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"),
    (0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM"),
    (0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
    (0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    (0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    (0xc012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    (0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    (0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    (0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    (0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
];

const GROUPS: [(u16, &str); 20] = [
    (0x0016, "secp256k1"),
    (0x0017, "secp256r1"),
    (0x0018, "secp384r1"),
    (0x0019, "secp521r1"),
    (0x001d, "X25519"),
    (0x001e, "X448"),
    (0x001f, "brainpoolP256r1tls13"),
    (0x0020, "brainpoolP384r1tls13"),
    (0x0021, "brainpoolP512r1tls13"),
    (0x0100, "ffdhe2048"),
    (0x0101, "ffdhe3072"),
    (0x0102, "ffdhe4096"),
    (0x0103, "ffdhe6144"),
    (0x0104, "ffdhe8192"),
    (0x0200, "MLKEM512"),
    (0x0201, "MLKEM768"),
    (0x0202, "MLKEM1024"),
    (0x11eb, "SecP256r1MLKEM768"),
    (0x11ec, "X25519MLKEM768"),
    (0x11ed, "SecP384r1MLKEM1024"),
];

const SIGNATURE_SCHEMES: [(u16, &str); 19] = [
    (0x0201, "rsa_pkcs1_sha1"),
    (0x0203, "ecdsa_sha1"),
    (0x0401, "rsa_pkcs1_sha256"),
    (0x0403, "ecdsa_secp256r1_sha256"),
    (0x0501, "rsa_pkcs1_sha384"),
    (0x0503, "ecdsa_secp384r1_sha384"),
    (0x0601, "rsa_pkcs1_sha512"),
    (0x0603, "ecdsa_secp521r1_sha512"),
    (0x0804, "rsa_pss_rsae_sha256"),
    (0x0805, "rsa_pss_rsae_sha384"),
    (0x0806, "rsa_pss_rsae_sha512"),
    (0x0807, "ed25519"),
    (0x0808, "ed448"),
    (0x0809, "rsa_pss_pss_sha256"),
    (0x080a, "rsa_pss_pss_sha384"),
    (0x080b, "rsa_pss_pss_sha512"),
    (0x0904, "mldsa44"),
    (0x0905, "mldsa65"),
    (0x0906, "mldsa87"),
];

/// RFC 8446 §6 and its predecessors.
const ALERTS: [(u8, &str); 36] = [
    (0, "close_notify"),
    (10, "unexpected_message"),
    (20, "bad_record_mac"),
    (21, "decryption_failed"),
    (22, "record_overflow"),
    (30, "decompression_failure"),
    (40, "handshake_failure"),
    (41, "no_certificate"),
    (42, "bad_certificate"),
    (43, "unsupported_certificate"),
    (44, "certificate_revoked"),
    (45, "certificate_expired"),
    (46, "certificate_unknown"),
    (47, "illegal_parameter"),
    (48, "unknown_ca"),
    (49, "access_denied"),
    (50, "decode_error"),
    (51, "decrypt_error"),
    (52, "too_many_cids_requested"),
    (60, "export_restriction"),
    (70, "protocol_version"),
    (71, "insufficient_security"),
    (80, "internal_error"),
    (86, "inappropriate_fallback"),
    (90, "user_canceled"),
    (100, "no_renegotiation"),
    (109, "missing_extension"),
    (110, "unsupported_extension"),
    (111, "certificate_unobtainable"),
    (112, "unrecognized_name"),
    (113, "bad_certificate_status_response"),
    (114, "bad_certificate_hash_value"),
    (115, "unknown_psk_identity"),
    (116, "certificate_required"),
    (120, "no_application_protocol"),
    (121, "ech_required"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_iana_names_and_unknown_ones_are_hexadecimal() {
        let cases = [
            (version_name(0x0304), "TLS 1.3"),
            (version_name(0x0305), "0x0305"),
            (group_name(0), ""),
            (suite_name(0x1302), "TLS_AES_256_GCM_SHA384"),
            (
                suite_name(0xcca9),
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            ),
            (suite_name(0x1306), "0x1306"),
            (group_name(0x001d), "X25519"),
            (group_name(0x11ec), "X25519MLKEM768"),
            (group_name(0x2a2a), "0x2a2a"),
            (signature_scheme_name(0x0403), "ecdsa_secp256r1_sha256"),
            (signature_scheme_name(0x0804), "rsa_pss_rsae_sha256"),
            (alert_name(40), "handshake_failure"),
            (alert_name(255), "alert_255"),
        ];
        for (found, wanted) in cases {
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn no_code_and_no_name_stands_twice() {
        for table in [&VERSIONS[..], &SUITES, &GROUPS, &SIGNATURE_SCHEMES] {
            for (index, (code, name)) in table.iter().enumerate() {
                assert!(
                    table[..index]
                        .iter()
                        .all(|(other, known)| other != code && known != name),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn every_alert_code_is_found_again_by_its_name() {
        for code in 0..=u8::MAX {
            assert_eq!(alert_code(&alert_name(code)), Some(code));
        }
        assert_eq!(alert_code("handshake failure"), None);
    }
}
