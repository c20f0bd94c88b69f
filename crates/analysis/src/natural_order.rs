//! Orders names the way people expect: numbers in them count as numbers.

use std::cmp::Ordering;

/// Compares piece by piece; runs of digits compare as numbers of any length.
pub(crate) fn natural_order(a: &str, b: &str) -> Ordering {
    pieces(a)
        .map(key)
        .cmp(pieces(b).map(key))
        .then_with(|| a.cmp(b))
}

/// Splits into runs of digits and runs of anything else.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_digit = rest.chars().next()?.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != is_digit)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Sorts numbers before words; without leading zeros, the shorter number is the smaller.
fn key(piece: &str) -> (bool, usize, &str) {
    if !piece.starts_with(|c: char| c.is_ascii_digit()) {
        return (true, 0, piece);
    }
    let number = piece.trim_start_matches('0');
    (false, number.len(), number)
}

#[cfg(test)]
mod tests {
    use super::natural_order;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let expected = [
            "",
            "7",
            "99999999999999999999x",
            "load",
            "load-01",
            "load-1",
            "load-2",
            "load-10",
            "load-10b",
            "local-1",
        ];
        let mut names = expected;
        names.reverse();
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, expected);
    }
}
