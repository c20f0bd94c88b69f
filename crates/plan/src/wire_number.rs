//! Numbers of Protocol Buffers whose text differs between operations: which texts each type takes,
//! and what they are on the wire ("Encoding").

use crate::ScalarType;
use std::ops::RangeInclusive;

impl ScalarType {
    /// Whether its values are numbers.
    #[must_use]
    pub fn is_number(self) -> bool {
        self.range().is_some() || self.is_float()
    }

    /// Whether its values have fractions.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, ScalarType::Float | ScalarType::Double)
    }

    /// The whole numbers that it has; `None` if its values have fractions, or are no numbers.
    pub(crate) fn range(self) -> Option<RangeInclusive<i128>> {
        match self {
            ScalarType::Int32 | ScalarType::Sint32 | ScalarType::Sfixed32 => {
                Some(i32::MIN.into()..=i32::MAX.into())
            }
            ScalarType::Int64 | ScalarType::Sint64 | ScalarType::Sfixed64 => {
                Some(i64::MIN.into()..=i64::MAX.into())
            }
            ScalarType::Uint32 | ScalarType::Fixed32 => Some(0..=u32::MAX.into()),
            ScalarType::Uint64 | ScalarType::Fixed64 => Some(0..=u64::MAX.into()),
            ScalarType::Bool
            | ScalarType::Float
            | ScalarType::Double
            | ScalarType::String
            | ScalarType::Bytes => None,
        }
    }

    /// Whether a text says a number of this type, in decimal digits.
    #[must_use]
    pub fn takes(self, text: &[u8]) -> bool {
        match (self, self.range()) {
            (_, Some(range)) => whole(text).is_some_and(|number| range.contains(&number)),
            (ScalarType::Float, _) => decimal(text).is_some_and(|it| (it as f32).is_finite()),
            (ScalarType::Double, _) => decimal(text).is_some(),
            _ => false,
        }
    }

    /// Appends what stands on the wire for the number that a text says. A text that says none of
    /// this type stands for 0, as a field that is not sent.
    pub fn put(self, text: &[u8], out: &mut Vec<u8>) {
        let taken = self.takes(text);
        let number = whole(text).filter(|_| taken).unwrap_or(0);
        // The range of the type says that it fits; a negative number has its sign extended.
        let (bits, narrow) = (number as u64, number as u32);
        match self {
            ScalarType::Int32 | ScalarType::Int64 | ScalarType::Uint32 | ScalarType::Uint64 => {
                put_varint(bits, out);
            }
            ScalarType::Sint32 | ScalarType::Sint64 => {
                let number = number as i64;
                put_varint(((number << 1) ^ (number >> 63)) as u64, out);
            }
            ScalarType::Fixed32 | ScalarType::Sfixed32 => {
                out.extend_from_slice(&narrow.to_le_bytes());
            }
            ScalarType::Fixed64 | ScalarType::Sfixed64 => {
                out.extend_from_slice(&bits.to_le_bytes())
            }
            ScalarType::Float => {
                let number = decimal(text).unwrap_or(0.0) as f32;
                out.extend_from_slice(&number.to_le_bytes());
            }
            ScalarType::Double => {
                let number = decimal(text).unwrap_or(0.0);
                out.extend_from_slice(&number.to_le_bytes());
            }
            ScalarType::Bool | ScalarType::String | ScalarType::Bytes => out.push(0),
        }
    }
}

/// Appends a number in groups of seven bits, the lowest first (Protocol Buffers, "Base 128
/// Varints").
pub fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn whole(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn decimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let begins = |c: char| c.is_ascii_digit() || c == '-';
    let number: f64 = text.starts_with(begins).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_of_the_types_that_have_them() {
        use ScalarType::*;
        let all = [
            Int32, Int64, Uint32, Uint64, Sint32, Sint64, Fixed32, Fixed64, Sfixed32, Sfixed64,
            Float, Double, Bool, String, Bytes,
        ];
        let taken = |text: &str| -> Vec<ScalarType> {
            let taking = all.into_iter().filter(|kind| kind.takes(text.as_bytes()));
            taking.collect()
        };
        assert_eq!(taken("0"), all[..12]);
        assert_eq!(taken("4294967295").len(), 9, "not of 32 bits with a sign");
        assert_eq!(
            taken("-1"),
            [
                Int32, Int64, Sint32, Sint64, Sfixed32, Sfixed64, Float, Double
            ]
        );
        assert_eq!(
            taken("18446744073709551615"),
            [Uint64, Fixed64, Float, Double]
        );
        assert_eq!(taken("1.5"), [Float, Double]);
        for text in [
            "", "-", "+1", " 1", "1 ", "0x1", "1_0", "NaN", "inf", "ab", "1e999", "१",
        ] {
            assert_eq!(taken(text), [], "{text:?}");
        }
        assert_eq!(taken("1e3"), [Float, Double]);
        assert_eq!(taken("1e39"), [Double]);
    }

    #[test]
    fn numbers_stand_on_the_wire_as_the_documentation_has_them() {
        for (kind, text, bytes) in [
            (ScalarType::Int32, "150", &[0x96, 0x01][..]),
            (
                ScalarType::Int32,
                "-2",
                &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            ),
            (ScalarType::Sint32, "-2", &[3]),
            (
                ScalarType::Sint64,
                "2147483647",
                &[0xfe, 255, 255, 255, 0x0f],
            ),
            (ScalarType::Sfixed32, "-1", &[255; 4]),
            (ScalarType::Fixed64, "1", &[1, 0, 0, 0, 0, 0, 0, 0]),
            (
                ScalarType::Uint64,
                "18446744073709551615",
                &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            ),
            (ScalarType::Float, "-1.5", &[0, 0, 0xc0, 0xbf]),
            (ScalarType::Double, "1", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (ScalarType::Int64, "", &[0]),
        ] {
            let mut out = Vec::new();
            kind.put(text.as_bytes(), &mut out);
            assert_eq!(out, bytes, "{kind:?} {text}");
        }
    }
}
