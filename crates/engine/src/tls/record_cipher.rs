//! Seals and opens TLS records in place (RFC 8446 §5.2, RFC 5246 §6.2.3, RFC 5288, RFC 7905),
//! without allocating.

use super::advance::Broken;
use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, Nonce, UnboundKey,
};
use measure::Kind;
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// Bytes before a record's content.
pub(super) const HEADER: usize = 5;
/// Largest plaintext of one record (RFC 8446 §5.1).
const MAX_PLAIN: usize = 16 * 1024;
/// Largest content: TLS 1.2's limit, which is above that of TLS 1.3.
const MAX_CONTENT: usize = MAX_PLAIN + 2048;
/// More than any record adds to its plaintext: header, explicit nonce, content type, tag.
pub(super) const RECORD_OVERHEAD: usize = 64;
/// The bytes of its nonce that GCM sends in TLS 1.2.
const EXPLICIT: usize = 8;
/// `legacy_record_version`.
const VERSION: [u8; 2] = [3, 3];

/// Content types (RFC 8446 §5.1).
pub(super) mod content {
    pub(crate) const ALERT: u8 = 21;
    pub(crate) const HANDSHAKE: u8 = 22;
    pub(crate) const APPLICATION_DATA: u8 = 23;
}

/// Alerts (RFC 8446 §6).
pub(super) mod alert {
    pub(crate) const CLOSE_NOTIFY: u8 = 0;
    pub(crate) const UNEXPECTED_MESSAGE: u8 = 10;
    pub(crate) const BAD_RECORD_MAC: u8 = 20;
    pub(crate) const RECORD_OVERFLOW: u8 = 22;
    pub(crate) const DECODE_ERROR: u8 = 50;
    pub(crate) const USER_CANCELED: u8 = 90;
    pub(crate) const NO_RENEGOTIATION: u8 = 100;
}

/// How a suite forms its nonces, and the layout of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// TLS 1.3: the type is encrypted after the plaintext.
    V13,
    /// GCM in TLS 1.2: eight bytes of the nonce precede the ciphertext.
    V12Explicit,
    /// ChaCha20-Poly1305 in TLS 1.2.
    V12,
}

/// One direction of a connection.
pub(super) struct RecordCipher {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    form: Form,
}

/// A complete record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenedRecord<'a> {
    pub(super) kind: u8,
    pub(super) plain: &'a [u8],
}

impl RecordCipher {
    /// Creates the direction from its next record on.
    pub(super) fn new(
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        version: ProtocolVersion,
    ) -> Result<RecordCipher, Broken> {
        let is_v13 = version == ProtocolVersion::TLSv1_3;
        let gcm = if is_v13 { Form::V13 } else { Form::V12Explicit };
        let (algorithm, key, iv, form) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv, gcm),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv, gcm),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (
                &CHACHA20_POLY1305,
                key,
                iv,
                if is_v13 { Form::V13 } else { Form::V12 },
            ),
            _ => return Err(Broken(Kind::BadTls)),
        };
        let unbound = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| Broken(Kind::BadTls))?;
        let iv = iv.as_ref().try_into().map_err(|_| Broken(Kind::BadTls))?;
        Ok(RecordCipher {
            key: LessSafeKey::new(unbound),
            iv,
            sequence,
            form,
        })
    }

    /// The number of records sealed or opened.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Appends `plain` to `out`, in as many records as needed.
    pub(super) fn seal(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        for fragment in plain.chunks(MAX_PLAIN) {
            self.seal_one(kind, fragment, out)?;
        }
        Ok(())
    }

    /// Appends `plain`, which fits into one record and may be empty, to `out`.
    pub(super) fn seal_one(
        &mut self,
        kind: u8,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        let nonce = self.nonce();
        let (explicit, inner) = match self.form {
            Form::V13 => (0, 1),
            Form::V12Explicit => (EXPLICIT, 0),
            Form::V12 => (0, 0),
        };
        // At most 16 KiB and 25 bytes: a fragment is no larger than `MAX_PLAIN`.
        let length = (explicit + plain.len() + inner + MAX_TAG_LEN) as u16;
        let outer = if self.form == Form::V13 {
            content::APPLICATION_DATA
        } else {
            kind
        };
        let header = header(outer, length);
        out.reserve(HEADER + usize::from(length));
        out.extend_from_slice(&header);
        // Eight bytes or none; our explicit nonce is the end of the nonce itself.
        out.extend_from_slice(&nonce[12 - explicit..]);
        let body = out.len();
        out.extend_from_slice(plain);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = if self.form == Form::V13 {
            out.push(kind);
            self.key
                .seal_in_place_separate_tag(nonce, Aad::from(header), &mut out[body..])
        } else {
            let aad = Aad::from(self.aad_v12(kind, plain.len()));
            self.key
                .seal_in_place_separate_tag(nonce, aad, &mut out[body..])
        };
        out.extend_from_slice(sealed.map_err(|_| Broken(Kind::BadTls))?.as_ref());
        self.sequence += 1;
        Ok(())
    }

    /// Opens the record at the beginning of `input`. Returns its length and content, or `None` if
    /// it is not complete yet. The error is the alert to send.
    pub(super) fn open<'a>(
        &mut self,
        input: &'a mut [u8],
    ) -> Result<Option<(usize, OpenedRecord<'a>)>, u8> {
        let Some(&[outer, _, _, l0, l1]) = input.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if length > MAX_CONTENT {
            return Err(alert::RECORD_OVERFLOW);
        }
        let Some(record) = input.get_mut(..HEADER + length) else {
            return Ok(None);
        };
        let (header, body) = record
            .split_first_chunk_mut::<HEADER>()
            .ok_or(alert::DECODE_ERROR)?;
        // Unencrypted records are not allowed any more (RFC 8446 §5).
        if self.form == Form::V13 && outer != content::APPLICATION_DATA {
            return Err(alert::UNEXPECTED_MESSAGE);
        }
        let (kind, plain) = match self.form {
            Form::V13 => self.open_v13(*header, body)?,
            Form::V12Explicit | Form::V12 => (outer, self.open_v12(outer, body)?),
        };
        if plain.len() > MAX_PLAIN {
            return Err(alert::RECORD_OVERFLOW);
        }
        self.sequence += 1;
        Ok(Some((HEADER + length, OpenedRecord { kind, plain })))
    }

    fn open_v13<'a>(&self, header: [u8; HEADER], body: &'a mut [u8]) -> Result<(u8, &'a [u8]), u8> {
        let nonce = Nonce::assume_unique_for_key(self.nonce());
        let inner = self
            .key
            .open_in_place(nonce, Aad::from(header), body)
            .map_err(|_| alert::BAD_RECORD_MAC)?;
        // The type is the last byte that is not padding (RFC 8446 §5.4).
        let end = inner
            .iter()
            .rposition(|&byte| byte != 0)
            .ok_or(alert::UNEXPECTED_MESSAGE)?;
        Ok((inner[end], &inner[..end]))
    }

    fn open_v12<'a>(&self, kind: u8, body: &'a mut [u8]) -> Result<&'a [u8], u8> {
        let mut nonce = self.nonce();
        let sealed = if self.form == Form::V12Explicit {
            let (explicit, sealed) = body
                .split_first_chunk_mut::<EXPLICIT>()
                .ok_or(alert::BAD_RECORD_MAC)?;
            // The sender chose these; only the first four bytes come from the key block (RFC 5288
            // §3).
            nonce[..4].copy_from_slice(&self.iv[..4]);
            nonce[4..].copy_from_slice(explicit);
            sealed
        } else {
            body
        };
        let length = sealed
            .len()
            .checked_sub(MAX_TAG_LEN)
            .ok_or(alert::BAD_RECORD_MAC)?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(self.aad_v12(kind, length));
        self.key
            .open_in_place(nonce, aad, sealed)
            .map(|plain| &*plain)
            .map_err(|_| alert::BAD_RECORD_MAC)
    }

    /// The sequence number XORed into the key block's vector (RFC 8446 §5.3). GCM in TLS 1.2 can
    /// use any nonce that does not repeat, and uses this one.
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, of_sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= of_sequence;
        }
        nonce
    }

    /// The data that the tag covers beside the content: sequence number and header (RFC 5246
    /// §6.2.3.3).
    fn aad_v12(&self, kind: u8, length: usize) -> [u8; 13] {
        let mut aad = [0; 13];
        aad[..8].copy_from_slice(&self.sequence.to_be_bytes());
        aad[8..].copy_from_slice(&header(kind, length as u16));
        aad
    }
}

fn header(kind: u8, length: u16) -> [u8; HEADER] {
    let [l0, l1] = length.to_be_bytes();
    [kind, VERSION[0], VERSION[1], l0, l1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::cipher::{AeadKey, Iv};

    fn secrets(which: usize) -> ConnectionTrafficSecrets {
        let (key, iv) = (AeadKey::from([7; 32]), Iv::new([9; 12]));
        match which {
            0 => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
            _ => ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
        }
    }

    fn pair(which: usize, version: ProtocolVersion) -> (RecordCipher, RecordCipher) {
        let cipher =
            || RecordCipher::new((5, secrets(which)), version).expect("keys of the right length");
        (cipher(), cipher())
    }

    const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3];

    #[test]
    fn what_is_sealed_is_opened_again() {
        for version in VERSIONS {
            for which in 0..2 {
                let (mut sealer, mut opener) = pair(which, version);
                let long = vec![42; 40_000];
                let mut wire = Vec::new();
                sealer
                    .seal(content::APPLICATION_DATA, b"first", &mut wire)
                    .expect("seals");
                sealer
                    .seal(content::APPLICATION_DATA, &long, &mut wire)
                    .expect("seals");
                sealer
                    .seal(content::ALERT, &[1, 0], &mut wire)
                    .expect("seals");
                let (mut at, mut plains) = (0, Vec::new());
                while let Some((length, record)) = opener.open(&mut wire[at..]).expect("opens") {
                    plains.push((record.kind, record.plain.to_vec()));
                    at += length;
                }
                assert_eq!(at, wire.len());
                assert_eq!(plains[0], (content::APPLICATION_DATA, b"first".to_vec()));
                assert_eq!(
                    plains[1..4]
                        .iter()
                        .map(|(_, plain)| plain.len())
                        .sum::<usize>(),
                    40_000
                );
                assert_eq!(plains[4], (content::ALERT, vec![1, 0]));
                assert_eq!(opener.sequence(), 10);
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        for version in VERSIONS {
            for which in 0..2 {
                let mut wire = Vec::new();
                pair(which, version)
                    .0
                    .seal(content::APPLICATION_DATA, b"x", &mut wire)
                    .expect("seals");
                for bit in 0..wire.len() * 8 {
                    let mut broken = wire.clone();
                    broken[bit / 8] ^= 1 << (bit % 8);
                    let opened = pair(which, version)
                        .1
                        .open(&mut broken)
                        .map(|found| found.map(|(_, record)| record.kind));
                    // The version is not checked in TLS 1.2; a larger length waits for more.
                    let harmless =
                        (1..3).contains(&(bit / 8)) && version == ProtocolVersion::TLSv1_2;
                    let told = opened.is_err() || opened == Ok(None);
                    assert!(told || harmless, "{version:?} {which}: bit {bit}");
                }
            }
        }
    }

    #[test]
    fn padding_is_taken_away() {
        let (mut sealer, mut opener) = pair(0, ProtocolVersion::TLSv1_3);
        let mut wire = Vec::new();
        sealer.seal(0, b"padded\x17\0\0", &mut wire).expect("seals");
        let (_, record) = opener.open(&mut wire).expect("opens").expect("is whole");
        assert_eq!(
            record,
            OpenedRecord {
                kind: content::APPLICATION_DATA,
                plain: b"padded"
            }
        );
        let mut wire = Vec::new();
        sealer.seal(0, b"\0\0", &mut wire).expect("seals");
        assert_eq!(opener.open(&mut wire), Err(alert::UNEXPECTED_MESSAGE));
    }

    #[test]
    fn records_that_are_not_whole_wait_and_those_too_large_do_not() {
        let (mut sealer, mut opener) = pair(0, ProtocolVersion::TLSv1_3);
        let mut wire = Vec::new();
        sealer
            .seal(content::APPLICATION_DATA, b"later", &mut wire)
            .expect("seals");
        let whole = wire.len();
        for length in 0..whole {
            assert_eq!(opener.open(&mut wire[..length]), Ok(None), "{length}");
        }
        assert!(opener.open(&mut wire).is_ok_and(|found| found.is_some()));
        assert_eq!(
            opener.open(&mut [23, 3, 3, 0xff, 0xff]),
            Err(alert::RECORD_OVERFLOW)
        );
    }
}
