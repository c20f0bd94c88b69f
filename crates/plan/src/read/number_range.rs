//! Reads a range of decimal numbers: `[100, 999]`, `[0.50, 99.99]`.

use crate::NumberRange;
use crate::read::field::Field;
use crate::read::node::NodeValue;

const EXAMPLE: &str = "the lowest and the highest number, such as [100, 999]";
/// Beyond it, a TOML number does not keep all its digits.
const MAX_SIZE: i64 = 1_000_000_000_000_000;
const MAX_DECIMALS: u64 = 9;

/// Reads the range, with as many decimals as asked for, or as its ends are written with.
pub(crate) fn read(field: &Field<'_>, decimals: Option<u64>) -> Option<NumberRange> {
    let ends = field.list_of(EXAMPLE, |field| match field.node.value {
        NodeValue::Whole(_) | NodeValue::Decimal(_) => Some(field.node.value.to_text()),
        _ => {
            field.wrong_type("a number", "one such as 5 or 0.25, without quotes");
            None
        }
    })?;
    let [low, high] = ends.as_slice() else {
        field.problem(format_args!("has {} elements; write {EXAMPLE}", ends.len()));
        return None;
    };
    let written = ends.iter().map(|end| digits_behind(end) as u64).max();
    let decimals = decimals.or(written).unwrap_or(0);
    let scaled = |text: &String| (decimals <= MAX_DECIMALS).then(|| scale(text, decimals))?;
    let (Some(low), Some(high)) = (scaled(low), scaled(high)) else {
        field.problem(format_args!(
            "cannot be counted in steps of {decimals} decimals; write numbers of at most 15 \
             digits, of which {MAX_DECIMALS} may stand behind the point, and no fewer decimals \
             than they have"
        ));
        return None;
    };
    if low > high {
        field.problem("begins with the higher number; write the lower one first");
        return None;
    }
    let decimals = u8::try_from(decimals).ok()?;
    Some(NumberRange {
        low,
        high,
        decimals,
    })
}

fn digits_behind(number: &str) -> usize {
    match number.split_once('.') {
        // A decimal that is whole is written with a zero.
        Some((_, "0")) => 1,
        Some((_, behind)) => behind.len(),
        None => 0,
    }
}

/// The number times ten to the power of `decimals`.
fn scale(text: &str, decimals: u64) -> Option<i64> {
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    let behind = if behind == "0" { "" } else { behind };
    let zeros = usize::try_from(decimals).ok()?.checked_sub(behind.len())?;
    let digits = format!("{whole}{behind}{}", "0".repeat(zeros));
    let number: i64 = digits.parse().ok()?;
    (-MAX_SIZE < number && number < MAX_SIZE).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn numbers_are_scaled_digit_by_digit() {
        for (text, decimals, expected) in [
            ("12", 0, Some(12)),
            ("12", 2, Some(1200)),
            ("-0.5", 1, Some(-5)),
            ("0.1", 3, Some(100)),
            ("99.99", 2, Some(9999)),
            ("1.0", 0, Some(1)),
            ("99.99", 1, None),
            ("1e21", 0, None),
            ("1000000000000000", 0, None),
            ("NaN", 0, None),
            ("inf", 0, None),
        ] {
            assert_eq!(scale(text, decimals), expected, "{text} by {decimals}");
        }
    }
}
