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

/// Name of a code, lower case; one without a name is `error_` and its number.
#[must_use]
pub fn error_name(code: u32) -> Cow<'static, str> {
    let named = usize::try_from(code).ok().and_then(|index| NAMES.get(index));
    named.map_or_else(|| Cow::Owned(format!("{UNNAMED}{code}")), |&name| Cow::Borrowed(name))
}

/// The code of that name.
#[must_use]
pub fn error_code(name: &str) -> Option<u32> {
    let named = NAMES.iter().position(|&known| known == name).and_then(|index| u32::try_from(index).ok());
    named.or_else(|| name.strip_prefix(UNNAMED)?.parse().ok())
}
