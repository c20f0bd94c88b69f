//! Frames of ours: always whole messages, always masked (RFC 6455 §5.3).

use super::FrameKind;
use measure::SplitMix;

const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
const LONGEST_HEAD: usize = 14;

/// Where the masks of a socket's frames come from. They keep proxies from taking frames for
/// requests, which a load test need not defend against, so a cheap generator does.
#[derive(Debug)]
pub(crate) struct FrameMask(SplitMix);

impl FrameMask {
    pub(crate) fn new(seed: u64) -> FrameMask {
        FrameMask(SplitMix::new(seed))
    }

    fn next(&mut self) -> [u8; 4] {
        (self.0.bits() as u32).to_le_bytes()
    }
}

/// Appends a frame, whose payload `write` appends, to `out`. `seen` is shown the payload before it
/// is masked.
#[inline]
pub(crate) fn put_frame(
    (kind, mask): (FrameKind, &mut FrameMask),
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
    seen: impl FnOnce(&[u8]),
) {
    // The head's length follows from the payload's, so the payload is written behind the longest.
    let begin = out.len();
    out.resize(begin + LONGEST_HEAD, 0);
    write(out);
    let length = out.len() - begin - LONGEST_HEAD;
    seen(&out[begin + LONGEST_HEAD..]);
    let mut head = [0; LONGEST_HEAD];
    head[0] = FIN | kind.opcode();
    let bytes = match length {
        0..=125 => {
            head[1] = MASKED | length as u8;
            2
        }
        126..=0xffff => {
            head[1] = MASKED | 126;
            head[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            4
        }
        _ => {
            head[1] = MASKED | 127;
            head[2..10].copy_from_slice(&(length as u64).to_be_bytes());
            10
        }
    };
    let key = mask.next();
    head[bytes..bytes + 4].copy_from_slice(&key);
    let head = &head[..bytes + 4];
    let payload = begin + LONGEST_HEAD;
    mask_bytes(&mut out[payload..], key);
    let start = payload - head.len();
    out[start..payload].copy_from_slice(head);
    out.drain(begin..start);
}

/// Appends a close frame with this code to `out`; one without a code if it is `None`.
pub(crate) fn put_close(code: Option<u16>, mask: &mut FrameMask, out: &mut Vec<u8>) {
    let write = |out: &mut Vec<u8>| {
        if let Some(code) = code {
            out.extend(code.to_be_bytes());
        }
    };
    put_frame((FrameKind::Close, mask), out, write, |_| ());
}

fn mask_bytes(bytes: &mut [u8], key: [u8; 4]) {
    let wide = u64::from_ne_bytes([
        key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3],
    ]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    // Eight is a multiple of the key's length.
    for (byte, key) in rest.iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload and opcode, as a server reads them (RFC 6455 §5.2).
    fn unmasked(frame: &[u8]) -> (u8, Vec<u8>) {
        let (length, at) = match frame[1] & 0x7f {
            126 => (usize::from(u16::from_be_bytes([frame[2], frame[3]])), 4),
            127 => {
                let length = <[u8; 8]>::try_from(&frame[2..10]).expect("8 bytes");
                (u64::from_be_bytes(length) as usize, 10)
            }
            short => (usize::from(short), 2),
        };
        assert_eq!(frame[1] & MASKED, MASKED);
        let (key, payload) = (&frame[at..at + 4], &frame[at + 4..]);
        assert_eq!(payload.len(), length);
        let bytes = payload.iter().zip(key.iter().cycle());
        (frame[0], bytes.map(|(byte, key)| byte ^ key).collect())
    }

    #[test]
    fn frames_are_masked_with_the_shortest_length() {
        let mut mask = FrameMask::new(7);
        for length in [0, 1, 7, 8, 125, 126, 127, 0xffff, 0x1_0000] {
            let payload: Vec<u8> = (0..length).map(|number: usize| number as u8).collect();
            let mut out = b"before".to_vec();
            let mut shown = Vec::new();
            put_frame(
                (FrameKind::Binary, &mut mask),
                &mut out,
                |out| out.extend_from_slice(&payload),
                |bytes| shown = bytes.to_vec(),
            );
            assert_eq!(shown, payload);
            let frame = out.strip_prefix(b"before").expect("what stood before");
            assert_eq!(unmasked(frame), (0x82, payload));
        }
        let mut out = Vec::new();
        put_close(Some(1001), &mut mask, &mut out);
        assert_eq!(unmasked(&out), (0x88, vec![3, 233]));
    }
}
