//! HKDF of TLS 1.3 (RFC 5869; RFC 8446 §7.1) from keyed states that are kept.
//!
//! HMAC starts with a block of its key, inside and outside. AWS-LC's HKDF hashes these two again
//! for every value that it derives from a secret, and a handshake derives some two dozen; SHA-384
//! was a fifth of the cost of a cheap handshake. Here they are hashed once per secret. Everything
//! else in the suites is AWS-LC's.

use hmac::{Hmac, KeyInit, Mac};
use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;
use rustls::crypto::hash::HashAlgorithm;
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};
use sha2::{Sha256, Sha384};
use std::sync::LazyLock;

/// Values of more than this many hashes cannot be derived (RFC 5869 §2.3).
const BLOCKS_MAX: usize = 255;

static SHA_256: LazyLock<KeptHkdf<Hmac<Sha256>>> = LazyLock::new(KeptHkdf::new);
static SHA_384: LazyLock<KeptHkdf<Hmac<Sha384>>> = LazyLock::new(KeptHkdf::new);
static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
    LazyLock::new(|| ALL_CIPHER_SUITES.iter().map(with_kept_hkdf).collect());

/// The cipher suite with this number (RFC 8446 §B.4), if there is one.
pub(super) fn suite(code: u16) -> Option<SupportedCipherSuite> {
    SUITES
        .iter()
        .find(|suite| u16::from(suite.suite()) == code)
        .copied()
}

fn with_kept_hkdf(suite: &SupportedCipherSuite) -> SupportedCipherSuite {
    let SupportedCipherSuite::Tls13(theirs) = *suite else {
        return *suite;
    };
    let Tls13CipherSuite {
        common:
            CipherSuiteCommon {
                suite,
                hash_provider,
                confidentiality_limit,
            },
        aead_alg,
        quic,
        ..
    } = *theirs;
    let hkdf_provider: &'static dyn Hkdf = match hash_provider.algorithm() {
        HashAlgorithm::SHA256 => &*SHA_256,
        HashAlgorithm::SHA384 => &*SHA_384,
        _ => theirs.hkdf_provider,
    };
    let common = CipherSuiteCommon {
        suite,
        hash_provider,
        confidentiality_limit,
    };
    // rustls wants suites that live as long as the process; this happens once per process.
    SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
        common,
        hkdf_provider,
        aead_alg,
        quic,
    })))
}

/// HKDF with the hash of `M`.
struct KeptHkdf<M> {
    /// The first secret of every handshake without a session: extracted from zeros only.
    early: M,
}

/// A pseudo-random key, hashed into HMAC's two states.
struct Expander<M>(M);

impl<M: Mac + KeyInit + Clone + Send + Sync + 'static> KeptHkdf<M> {
    fn new() -> KeptHkdf<M> {
        KeptHkdf {
            early: extract::<M>(None, &zeros::<M>()),
        }
    }
}

impl<M: Mac + KeyInit + Clone + Send + Sync + 'static> Hkdf for KeptHkdf<M> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        match salt {
            // The first secret of every handshake without a session, computed once.
            None => Box::new(Expander(self.early.clone())),
            Some(_) => self.extract_from_secret(salt, &zeros::<M>()),
        }
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(Expander(extract::<M>(salt, secret)))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander(with_key::<M>(okm.as_ref())))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        Tag::new(
            &with_key::<M>(key.as_ref())
                .chain_update(message)
                .finalize()
                .into_bytes(),
        )
    }
}

impl<M: Mac + Clone + Send + Sync> HkdfExpander for Expander<M> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let blocks = output.chunks_mut(M::output_size());
        if blocks.len() > BLOCKS_MAX {
            return Err(OutputLengthError);
        }
        let mut last = None;
        for (block, number) in blocks.zip(1..=u8::MAX) {
            let value = self.block(last.as_ref(), info, number);
            block.copy_from_slice(&value[..block.len()]);
            last = Some(value);
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        OkmBlock::new(&self.block(None, info, 1))
    }

    fn hash_len(&self) -> usize {
        M::output_size()
    }
}

impl<M: Mac + Clone> Expander<M> {
    /// Block `number` of the output: T(number) of RFC 5869 §2.3.
    fn block(
        &self,
        last: Option<&hmac::digest::Output<M>>,
        info: &[&[u8]],
        number: u8,
    ) -> hmac::digest::Output<M> {
        // Copying the states saves hashing the key again.
        let mut mac = self.0.clone();
        if let Some(last) = last {
            mac.update(last);
        }
        for part in info {
            mac.update(part);
        }
        mac.chain_update([number]).finalize().into_bytes()
    }
}

/// HKDF-Extract (RFC 5869 §2.2); returns the result as a key for expansion.
fn extract<M: Mac + KeyInit>(salt: Option<&[u8]>, secret: &[u8]) -> M {
    let no_salt = zeros::<M>();
    // The salt is HMAC's key, the secret its message.
    let mac = with_key::<M>(salt.unwrap_or(&no_salt));
    let pseudo_random_key = mac.chain_update(secret).finalize();
    with_key(&pseudo_random_key.into_bytes())
}

fn with_key<M: Mac + KeyInit>(key: &[u8]) -> M {
    <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length (RFC 2104 §3)")
}

/// As many zeros as the hash has bytes: used in place of a missing salt or secret.
fn zeros<M: Mac>() -> hmac::digest::Output<M> {
    hmac::digest::Output::<M>::default()
}

#[cfg(test)]
mod tests {
    use super::suite;
    use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;
    use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock};
    use rustls::{SupportedCipherSuite, Tls13CipherSuite};

    fn both(theirs: &SupportedCipherSuite) -> Option<[&'static Tls13CipherSuite; 2]> {
        let ours = suite(theirs.suite().into()).expect("every suite is there");
        ours.tls13()
            .zip(theirs.tls13())
            .map(|(ours, theirs)| [ours, theirs])
    }

    fn expanded(expander: &dyn HkdfExpander) -> (Vec<u8>, Vec<u8>, usize) {
        let mut long = vec![0; 150];
        expander
            .expand_slice(&[b"some", b"info"], &mut long)
            .expect("short enough");
        (
            expander.expand_block(&[b"label", b""]).as_ref().to_vec(),
            long,
            expander.hash_len(),
        )
    }

    #[test]
    fn values_are_those_of_aws_lc() {
        let secrets: [&[u8]; 3] = [b"", &[7; 48], &[9; 200]];
        for pair in ALL_CIPHER_SUITES.iter().filter_map(both) {
            let of = |derive: &dyn Fn(&dyn Hkdf) -> Box<dyn HkdfExpander>| {
                pair.map(|suite| expanded(&*derive(suite.hkdf_provider)))
            };
            for salt in [None, Some(&[3; 32][..]), Some(&[4; 150][..])] {
                let [ours, theirs] = of(&|hkdf| hkdf.extract_from_zero_ikm(salt));
                assert_eq!(ours, theirs);
                for secret in secrets {
                    let [ours, theirs] = of(&|hkdf| hkdf.extract_from_secret(salt, secret));
                    assert_eq!(ours, theirs);
                }
            }
            let okm = OkmBlock::new(&[5; 48][..pair[0].common.hash_provider.output_len()]);
            let [ours, theirs] = of(&|hkdf| hkdf.expander_for_okm(&okm));
            assert_eq!(ours, theirs);
            let [ours, theirs] = pair.map(|suite| {
                suite
                    .hkdf_provider
                    .hmac_sign(&okm, b"message")
                    .as_ref()
                    .to_vec()
            });
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn three_suites_of_tls_1_3_are_there_and_all_of_tls_1_2() {
        assert_eq!(ALL_CIPHER_SUITES.iter().filter_map(both).count(), 3);
        assert!(
            ALL_CIPHER_SUITES
                .iter()
                .all(|theirs| suite(theirs.suite().into()).is_some())
        );
        assert!(suite(0x0005).is_none(), "RC4");
    }

    #[test]
    fn value_that_is_too_long_is_refused() {
        let [ours, _] = ALL_CIPHER_SUITES
            .iter()
            .find_map(both)
            .expect("there is one of TLS 1.3");
        let expander = ours.hkdf_provider.extract_from_zero_ikm(None);
        let most = 255 * expander.hash_len();
        assert!(expander.expand_slice(&[], &mut vec![0; most]).is_ok());
        assert!(expander.expand_slice(&[], &mut vec![0; most + 1]).is_err());
    }
}
