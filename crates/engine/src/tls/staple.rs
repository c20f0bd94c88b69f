//! The times that a stapled OCSP response states (RFC 6960 §4.2.1). The certificate's status and
//! the signature are ignored.

use super::der::{any, element, seconds};
use measure::Staple;

/// id-pkix-ocsp-basic, 1.3.6.1.5.5.7.48.1.1.
const BASIC: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];
const SUCCESSFUL: &[u8] = &[0];

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;
const OCTETS: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
const TIME: u8 = 0x18;
/// `[0]`, constructed.
const OPTIONAL: u8 = 0xa0;

/// Reads staples, each once: a server sends the same one for hours.
#[derive(Debug, Default)]
pub(super) struct Staples {
    last: Vec<u8>,
    read: Staple,
}

impl Staples {
    /// Reads the times of a response; `None` if it is empty, so that there is no staple.
    pub(super) fn read(&mut self, response: &[u8]) -> Option<Staple> {
        if response.is_empty() {
            return None;
        }
        if self.last != response {
            self.last = response.to_vec();
            self.read = times(response).unwrap_or_default();
        }
        Some(self.read)
    }
}

fn times(response: &[u8]) -> Option<Staple> {
    let mut data = response_data(response)?;
    // The version, if it is not the first.
    let _ = element(&mut data, OPTIONAL);
    let _responder = any(&mut data)?;
    let produced_at = seconds(element(&mut data, TIME)?)?;
    // A staple is about one certificate, so the first SingleResponse is the right one.
    let mut responses = element(&mut data, SEQUENCE)?;
    let mut first = element(&mut responses, SEQUENCE)?;
    let _certificate = element(&mut first, SEQUENCE)?;
    let _status = any(&mut first)?;
    let this_update = seconds(element(&mut first, TIME)?)?;
    let next_update = match element(&mut first, OPTIONAL) {
        Some(mut inside) => seconds(element(&mut inside, TIME)?)?,
        None => 0,
    };
    Some(Staple {
        this_update,
        next_update,
        produced_at,
    })
}

/// The signed part of a successful basic response.
fn response_data(mut response: &[u8]) -> Option<&[u8]> {
    // OCSPResponse: responseStatus, then [0] responseBytes.
    let mut whole = element(&mut response, SEQUENCE)?;
    let status = element(&mut whole, ENUMERATED)?;
    let mut optional = element(&mut whole, OPTIONAL)?;
    // ResponseBytes: responseType, then the BasicOCSPResponse as octets.
    let mut bytes = element(&mut optional, SEQUENCE)?;
    let kind = element(&mut bytes, OID)?;
    let mut octets = element(&mut bytes, OCTETS)?;
    // BasicOCSPResponse: ResponseData, then its signature.
    let mut basic = element(&mut octets, SEQUENCE)?;
    let data = element(&mut basic, SEQUENCE)?;
    (status == SUCCESSFUL && kind == BASIC).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = match content.len() {
            short @ 0..=0x7f => vec![short as u8],
            long => vec![0x82, (long >> 8) as u8, long as u8],
        };
        [&[tag][..], &length, content].concat()
    }

    fn response(next_update: bool, version: bool) -> Vec<u8> {
        let time = |text: &str| wrapped(TIME, text.as_bytes());
        let next_update = if next_update {
            wrapped(OPTIONAL, &time("20261127151600Z"))
        } else {
            Vec::new()
        };
        // The status "good" is an empty `[0]`.
        let single = [
            wrapped(SEQUENCE, &[1; 60]),
            vec![0x80, 0],
            time("20261120151600Z"),
            next_update,
        ]
        .concat();
        let responses = wrapped(SEQUENCE, &wrapped(SEQUENCE, &single));
        let version = if version {
            wrapped(OPTIONAL, &[0x02, 1, 0])
        } else {
            Vec::new()
        };
        let data = [
            version,
            wrapped(0xa2, &[0x04, 2, 7, 7]),
            time("20261120151700Z"),
            responses,
        ]
        .concat();
        let basic = wrapped(
            SEQUENCE,
            &[wrapped(SEQUENCE, &data), vec![0x30, 0, 0x03, 0]].concat(),
        );
        let bytes = wrapped(
            SEQUENCE,
            &[wrapped(OID, BASIC), wrapped(OCTETS, &basic)].concat(),
        );
        wrapped(
            SEQUENCE,
            &[vec![ENUMERATED, 1, 0], wrapped(OPTIONAL, &bytes)].concat(),
        )
    }

    #[test]
    fn times_are_read_with_and_without_what_is_optional() {
        let staple = Staple {
            this_update: 1_795_187_760,
            next_update: 1_795_792_560,
            produced_at: 1_795_187_820,
        };
        assert_eq!(times(&response(true, false)), Some(staple));
        assert_eq!(
            times(&response(false, true)),
            Some(Staple {
                next_update: 0,
                ..staple
            })
        );
    }

    #[test]
    fn what_cannot_be_read_is_a_staple_without_times() {
        let mut staples = Staples::default();
        assert_eq!(staples.read(&[]), None);
        assert_eq!(
            staples.read(&[0x30, 3, ENUMERATED, 1, 6]),
            Some(Staple::default()),
            "the responder says unauthorized"
        );
        let whole = response(true, true);
        for cut in 1..whole.len() {
            assert_eq!(times(&whole[..cut]), None, "cut after {cut} bytes");
        }
        assert_ne!(staples.read(&whole), Some(Staple::default()));
    }
}
