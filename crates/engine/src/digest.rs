//! Hashes, authentication codes, and bytes as text.

use aws_lc_rs::{digest, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE_NO_PAD};
use plan::{Encoding, HashFunction};

/// A key, ready to sign with.
#[derive(Debug)]
pub(crate) struct HmacKey(hmac::Key);

impl HmacKey {
    pub(crate) fn new(hash: HashFunction, key: &[u8]) -> HmacKey {
        let algorithm = match hash {
            HashFunction::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            HashFunction::Sha256 => hmac::HMAC_SHA256,
            HashFunction::Sha384 => hmac::HMAC_SHA384,
            HashFunction::Sha512 => hmac::HMAC_SHA512,
        };
        HmacKey(hmac::Key::new(algorithm, key))
    }

    pub(crate) fn sign(&self, text: &[u8]) -> hmac::Tag {
        hmac::sign(&self.0, text)
    }
}

pub(crate) fn hash(hash: HashFunction, text: &[u8]) -> digest::Digest {
    let algorithm = match hash {
        HashFunction::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        HashFunction::Sha256 => &digest::SHA256,
        HashFunction::Sha384 => &digest::SHA384,
        HashFunction::Sha512 => &digest::SHA512,
    };
    digest::digest(algorithm, text)
}

/// Appends `bytes` to `out` as text.
pub(crate) fn encode(bytes: &[u8], encoding: Encoding, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(bytes);
    encode_from(from, encoding, out);
}

/// Replaces what stands in `out` from `from` on by its text.
pub(crate) fn encode_from(from: usize, encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Hex => hex_from(from, out),
        Encoding::Base64 => base64_from(from, &STANDARD, out),
        Encoding::Base64Url => base64_from(from, &URL_SAFE_NO_PAD, out),
    }
}

fn hex_from(from: usize, out: &mut Vec<u8>) {
    let bytes = out.len() - from;
    out.resize(from + 2 * bytes, 0);
    // From the end, so that no byte is overwritten before it is read.
    for at in (0..bytes).rev() {
        let byte = out[from + at];
        let digits = [byte >> 4, byte & 15].map(|half| b"0123456789abcdef"[usize::from(half)]);
        out[from + 2 * at..from + 2 * at + 2].copy_from_slice(&digits);
    }
}

fn base64_from(from: usize, engine: &GeneralPurpose, out: &mut Vec<u8>) {
    let end = out.len();
    let most = (end - from).div_ceil(3) * 4;
    out.resize(end + most, 0);
    let (bytes, text) = out[from..].split_at_mut(end - from);
    let length = engine.encode_slice(bytes, text);
    let length = length.expect("base64 has four characters for three bytes");
    out.truncate(end + length);
    out.drain(from..end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], encoding: Encoding) -> String {
        let mut out = b"before ".to_vec();
        encode(bytes, encoding, &mut out);
        let text = out.strip_prefix(b"before ").expect("what was there");
        String::from_utf8(text.to_vec()).expect("text")
    }

    #[test]
    fn bytes_are_written_as_the_standards_say() {
        // RFC 4648 §10.
        for (bytes, hex, base64) in [
            ("", "", ""),
            ("f", "66", "Zg=="),
            ("fo", "666f", "Zm8="),
            ("foo", "666f6f", "Zm9v"),
            ("foobar", "666f6f626172", "Zm9vYmFy"),
        ] {
            assert_eq!(text(bytes.as_bytes(), Encoding::Hex), hex);
            assert_eq!(text(bytes.as_bytes(), Encoding::Base64), base64);
            let url = text(bytes.as_bytes(), Encoding::Base64Url);
            assert_eq!(url, base64.trim_end_matches('='));
        }
        assert_eq!(text(&[0xfb, 0xff], Encoding::Base64Url), "-_8");
    }

    #[test]
    fn hashes_and_codes_are_those_of_the_standards() {
        // FIPS 180-4, "abc"; RFC 4231 §4.3, RFC 2202 §3.
        let hashed = |function| text(hash(function, b"abc").as_ref(), Encoding::Hex);
        assert_eq!(
            hashed(HashFunction::Sha1),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert!(hashed(HashFunction::Sha256).starts_with("ba7816bf8f01cfea414140de5dae2223"));
        assert!(hashed(HashFunction::Sha384).starts_with("cb00753f45a35e8bb5a03d699ac65007"));
        assert!(hashed(HashFunction::Sha512).starts_with("ddaf35a193617abacc417349ae204131"));
        let signed = |function| {
            let code = HmacKey::new(function, b"Jefe").sign(b"what do ya want for nothing?");
            text(code.as_ref(), Encoding::Hex)
        };
        assert_eq!(
            signed(HashFunction::Sha1),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        );
        assert!(signed(HashFunction::Sha256).starts_with("5bdcc146bf60754e6a042426089575c7"));
        assert!(signed(HashFunction::Sha384).starts_with("af45d2e376484031617f78d2b58a6b1b"));
        assert!(signed(HashFunction::Sha512).starts_with("164b7a7bfcf819e2e395fbe73b56e0a3"));
    }
}
