//! Which rule of HTTP an answer or a connection broke.

use serde::{Deserialize, Serialize};

/// The rule of HTTP that a server broke, or the limit of the client that it went beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HttpViolation {
    /// A field name with an upper-case letter, or none at all (RFC 9113 §8.2.1).
    FieldName,
    /// A field value with NUL, CR or LF, or with white space around it (RFC 9113 §8.2.1).
    FieldValue,
    /// A field of an HTTP/1.1 connection (RFC 9113 §8.2.2).
    ConnectionField,
    /// A pseudo-field that is unknown, late, or in trailers (RFC 9113 §8.3).
    PseudoField,
    /// No `:status`, two of them, 101, or one that is not three digits (RFC 9113 §8.3.2, §8.6).
    Status,
    /// Lengths that contradict each other or the body (RFC 9113 §8.1.1).
    ContentLength,
    /// A body where the response has none: 204, 304, or to HEAD (RFC 9113 §8.1.1).
    UnexpectedBody,
    /// Frames of a stream in another order than head, body, trailers (RFC 9113 §8.1).
    MessageOrder,
    /// A header block that cannot be decoded (RFC 7541).
    HeaderCompression,
    /// A frame of a wrong length (RFC 9113 §4.2).
    FrameSize,
    /// A window beyond its end (RFC 9113 §6.9.1).
    FlowControl,
    /// A frame where it must not be, or with a value that it must not have (RFC 9113 §6).
    FrameOrder,
    /// PING frames without end (RFC 9113 §10.5), as the next four.
    PingFlood,
    /// SETTINGS frames.
    SettingsFlood,
    /// DATA or CONTINUATION frames with nothing, or next to nothing, in them.
    EmptyFrames,
    /// Other frames that carry no answer on.
    FrameFlood,
    /// Interim answers (1xx), in HTTP/1.1 too.
    InterimFlood,
}

impl HttpViolation {
    /// All of them, with the names that results and thresholds write.
    pub(crate) const NAMES: [(HttpViolation, &str); 17] = [
        (HttpViolation::FieldName, "field_name"),
        (HttpViolation::FieldValue, "field_value"),
        (HttpViolation::ConnectionField, "connection_field"),
        (HttpViolation::PseudoField, "pseudo_field"),
        (HttpViolation::Status, "status"),
        (HttpViolation::ContentLength, "content_length"),
        (HttpViolation::UnexpectedBody, "unexpected_body"),
        (HttpViolation::MessageOrder, "message_order"),
        (HttpViolation::HeaderCompression, "header_compression"),
        (HttpViolation::FrameSize, "frame_size"),
        (HttpViolation::FlowControl, "flow_control"),
        (HttpViolation::FrameOrder, "frame_order"),
        (HttpViolation::PingFlood, "ping_flood"),
        (HttpViolation::SettingsFlood, "settings_flood"),
        (HttpViolation::EmptyFrames, "empty_frames"),
        (HttpViolation::FrameFlood, "frame_flood"),
        (HttpViolation::InterimFlood, "interim_flood"),
    ];
}
