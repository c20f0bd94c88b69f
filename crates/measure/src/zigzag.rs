//! HdrHistogram's variable-length integers: ZigZag, then LEB128 in at most 9 bytes, the ninth whole
//! (`ZigZagEncoding.java`).

/// Longest encoding of a number.
pub(crate) const MAX_BYTES: usize = 9;

/// Appends `number`, 7 bits a byte, the last of nine with 8.
pub(crate) fn write(number: i64, out: &mut Vec<u8>) {
    // Small numbers of either sign get small codes: 0, -1, 1, -2 are 0, 1, 2, 3.
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..MAX_BYTES {
        if rest < 0x80 {
            break;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number from the front; `None` where the bytes end inside it.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for place in 0..MAX_BYTES {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let last = place == MAX_BYTES - 1;
        number |= u64::from(if last { byte } else { byte & 0x7f }) << (7 * place);
        if last || byte < 0x80 {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_bytes_worked_out_by_hand() {
        let cases: [(i64, &[u8]); 8] = [
            (0, &[0]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[0x7e]),
            (64, &[0x80, 1]),
            (-64, &[0x7f]),
            (
                i64::MAX,
                &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ),
            (i64::MIN, &[0xff; 9]),
        ];
        for (number, bytes) in cases {
            let mut written = Vec::new();
            write(number, &mut written);
            assert_eq!(written, bytes, "{number}");
            assert_eq!(read(&mut written.as_slice()), Some(number));
        }
    }

    #[test]
    fn number_cut_off_is_none() {
        for bytes in [&[][..], &[0x80], &[0xff; 8]] {
            assert_eq!(read(&mut &*bytes), None, "{bytes:?}");
        }
    }
}
