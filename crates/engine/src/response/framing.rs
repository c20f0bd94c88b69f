//! The meaning of a head's fields for its body and its connection (RFC 9112 §6.3, §9.3).

use super::chunk::SIZE_LINE;
use super::state::ResponseState;
use super::unreadable::Unreadable::{self, BadFraming};

/// The meaning of the fields for framing and the connection.
#[derive(Debug, Default)]
pub(super) struct Framing {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    /// Reads the fields; fails if they contradict each other.
    pub(super) fn new(fields: &[httparse::Header<'_>]) -> Result<Framing, Unreadable> {
        let mut framing = Framing::default();
        for field in fields {
            // Most fields can be skipped by their length alone.
            match field.name.len() {
                14 if field.name.eq_ignore_ascii_case("content-length") => {
                    framing.take_length(field.value)?
                }
                17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                    framing.take_coding(field.value)
                }
                10 if field.name.eq_ignore_ascii_case("connection") => {
                    framing.take_connection(field.value)
                }
                _ => {}
            }
        }
        Ok(framing)
    }

    /// Repeated lengths must agree (RFC 9112 §6.3, item 5).
    fn take_length(&mut self, value: &[u8]) -> Result<(), Unreadable> {
        for part in value.split(|&byte| byte == b',') {
            let part = part.trim_ascii();
            if part.is_empty() || !part.iter().all(u8::is_ascii_digit) {
                return Err(BadFraming);
            }
            let length = std::str::from_utf8(part)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .ok_or(BadFraming)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(BadFraming);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn take_coding(&mut self, value: &[u8]) {
        for coding in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            // The body is framed only if "chunked" is the last coding.
            self.other_coding |= self.chunked;
            self.chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.other_coding |= !self.chunked;
        }
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    pub(super) fn keeps_alive(&self, minor_version: u8) -> bool {
        !self.close && (minor_version >= 1 || self.keep_alive)
    }

    pub(super) fn state(
        &self,
        minor_version: u8,
        keep_alive: &mut bool,
    ) -> Result<ResponseState, Unreadable> {
        if self.chunked {
            if self.length.is_some() || minor_version == 0 {
                return Err(BadFraming); // request smuggling's favourite; RFC 9112 §6.3 item 3
            }
            return Ok(ResponseState::Chunked(SIZE_LINE));
        }
        match self.length {
            // A length beside any other coding is just as suspicious (§6.3 item 3).
            Some(_) if self.other_coding => Err(BadFraming),
            Some(0) => Ok(ResponseState::Whole),
            Some(length) => Ok(ResponseState::Length(length)),
            None => {
                // The end of the connection ends the body (§6.3 item 8), so no request can follow.
                *keep_alive = false;
                Ok(ResponseState::UntilEof)
            }
        }
    }
}
