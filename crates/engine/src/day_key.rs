//! The key that requests are signed with for AWS: it is derived anew each day (UTC).

use crate::clock::unix_ns;
use crate::digest::HmacKey;
use arc_swap::ArcSwap;
use aws_lc_rs::hmac::Tag;
use plan::{HashFunction, TimeFormat};
use secret::Secret;
use std::sync::Arc;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The key of the current day.
#[derive(Debug)]
pub(crate) struct DayKey {
    /// `AWS4` and the secret key.
    secret: Secret<Vec<u8>>,
    /// What the key is derived for, after the date.
    scope: [String; 2],
    date: TimeFormat,
    current: ArcSwap<DatedKey>,
}

#[derive(Debug)]
struct DatedKey {
    /// Days since 1970.
    day: u64,
    key: HmacKey,
}

impl DayKey {
    /// The key that follows from `secret` for a region and a service, ready for today.
    pub(crate) fn new(secret: &[u8], scope: [&str; 2]) -> DayKey {
        let secret = Secret::new([b"AWS4", secret].concat());
        let scope = scope.map(str::to_owned);
        let date: TimeFormat = "%Y%m%d".parse().expect("a pattern");
        let today = derive(&secret, &scope, (&date, unix_ns()));
        DayKey {
            current: ArcSwap::from_pointee(today),
            secret,
            scope,
            date,
        }
    }

    /// The code of `text` at an instant in nanoseconds since 1970.
    pub(crate) fn sign(&self, unix_ns: u64, text: &[u8]) -> Tag {
        let current = self.current.load();
        if current.day != unix_ns / DAY_NS {
            return self.sign_on_new_day(unix_ns, text);
        }
        current.key.sign(text)
    }

    #[cold]
    fn sign_on_new_day(&self, unix_ns: u64, text: &[u8]) -> Tag {
        let dated = derive(&self.secret, &self.scope, (&self.date, unix_ns));
        let tag = dated.key.sign(text);
        self.current.store(Arc::new(dated));
        tag
    }
}

/// Derives the key of a day.
fn derive(
    secret: &Secret<Vec<u8>>,
    scope: &[String; 2],
    (date, unix_ns): (&TimeFormat, u64),
) -> DatedKey {
    let new = |key: &[u8]| HmacKey::new(HashFunction::Sha256, key);
    let mut text = Vec::new();
    date.put(unix_ns, &mut text);
    let steps = [
        &text[..],
        scope[0].as_bytes(),
        scope[1].as_bytes(),
        b"aws4_request",
    ];
    let derived = steps.into_iter().fold(new(secret.reveal()), |key, step| {
        new(key.sign(step).as_ref())
    });
    DatedKey {
        day: unix_ns / DAY_NS,
        key: derived,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(tag: Tag) -> String {
        tag.as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The example of the AWS General Reference, "Examples of how to derive a signing key".
    #[test]
    fn key_is_that_of_the_day() {
        let secret = b"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let key = DayKey::new(secret, ["us-east-1", "iam"]);
        // 2015-08-30, and the last nanosecond of the day.
        let (day, last) = (1_440_892_800_000_000_000, 1_440_979_199_999_999_999);
        let to_sign = b"AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n\
                        f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59";
        let expected = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        assert_eq!(hex(key.sign(day, to_sign)), expected);
        assert_ne!(hex(key.sign(last + 1, to_sign)), expected);
        assert_eq!(hex(key.sign(last, to_sign)), expected);
    }
}
