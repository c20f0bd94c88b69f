//! Names of HTTP/2's error codes (RFC 9113 §7).

use std::borrow::Cow;

const NAMES: [&str; 14] = [
    "no_error",
    "protocol_error",
    "internal_error",
    "flow_control_error",
    "settings_timeout",
    "stream_closed",
    "frame_size_error",
    "refused_stream",
    "cancel",
    "compression_error",
    "connect_error",
    "enhance_your_calm",
    "inadequate_security",
    "http_1_1_required",
];

const UNNAMED: &str = "error_";
/// Codes above are counted as one: a server could send four thousand million different ones.
const LAST_APART: u32 = 255;
/// All codes above [`LAST_APART`].
const OTHERS: u32 = u32::MAX;

/// The code that a failure with this one is counted under.
#[must_use]
pub fn code_to_count(code: u32) -> u32 {
    if code <= LAST_APART { code } else { OTHERS }
}

/// Name of a code, lower case; one without a name is `error_` and its number, or `error_others`.
#[must_use]
pub fn error_name(code: u32) -> Cow<'static, str> {
    if code == OTHERS {
        return Cow::Borrowed("error_others");
    }
    let named = usize::try_from(code)
        .ok()
        .and_then(|index| NAMES.get(index));
    named.map_or_else(
        || Cow::Owned(format!("{UNNAMED}{code}")),
        |&name| Cow::Borrowed(name),
    )
}

/// The code of that name.
#[must_use]
pub fn error_code(name: &str) -> Option<u32> {
    let named = NAMES
        .iter()
        .position(|&known| known == name)
        .and_then(|index| u32::try_from(index).ok());
    named.or_else(|| match name.strip_prefix(UNNAMED)? {
        "others" => Some(OTHERS),
        number => number.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_nobody_knows_are_few() {
        let counted: std::collections::BTreeSet<u32> = (0..100_000)
            .chain([u32::MAX - 1, u32::MAX])
            .map(code_to_count)
            .collect();
        assert_eq!(counted.len(), 257);
        assert_eq!(error_name(code_to_count(1_000_000)), "error_others");
        assert_eq!(error_code("error_others"), Some(code_to_count(1_000_000)));
    }
}
