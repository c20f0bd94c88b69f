//! The opening handshake (RFC 6455 §4): the client's key, and what the server makes of it.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use measure::{SplitMix, WebSocketFault};
use plan::WebSocket;

const KEY_BYTES: usize = 16;
const SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a key as it is written.
pub(crate) const KEY_LENGTH: usize = 24;

/// Appends the `sec-websocket-key` of the operation with these `random` bits to `out`.
pub(crate) fn put_key(random: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(key(random).as_bytes());
}

fn key(random: u64) -> String {
    let mut bits = SplitMix::new(random);
    let mut bytes = [0; KEY_BYTES];
    bytes[..8].copy_from_slice(&bits.bits().to_le_bytes());
    bytes[8..].copy_from_slice(&bits.bits().to_le_bytes());
    STANDARD.encode(bytes)
}

fn accept_of(key: &str) -> String {
    let of = digest(
        &SHA1_FOR_LEGACY_USE_ONLY,
        format!("{key}{SUFFIX}").as_bytes(),
    );
    STANDARD.encode(of.as_ref())
}

/// How a socket is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SocketOpening {
    /// By an upgrade of HTTP/1.1 (RFC 6455 §4).
    #[default]
    Upgrade,
    /// By an extended CONNECT of HTTP/2 (RFC 8441 §5), without a key.
    Connect,
}

impl SocketOpening {
    /// The status with which a server accepts.
    pub(crate) fn status(self) -> u16 {
        match self {
            SocketOpening::Upgrade => 101,
            SocketOpening::Connect => 200,
        }
    }
}

/// The fields of an answer that accepts a socket.
#[derive(Debug, Default)]
pub(super) struct UpgradeFields {
    opening: SocketOpening,
    is_upgrade: bool,
    accept: Vec<u8>,
    protocol: Option<Vec<u8>>,
    has_extensions: bool,
}

impl UpgradeFields {
    pub(super) fn new<'f>(
        opening: SocketOpening,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> UpgradeFields {
        let mut found = UpgradeFields {
            opening,
            ..UpgradeFields::default()
        };
        let mut says_upgrade = false;
        for (name, value) in fields {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            if is("upgrade") {
                found.is_upgrade |= value.trim_ascii().eq_ignore_ascii_case(b"websocket");
            } else if is("connection") {
                let mut options = value.split(|&byte| byte == b',');
                says_upgrade |=
                    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
            } else if is("sec-websocket-accept") {
                found.accept = value.trim_ascii().to_vec();
            } else if is("sec-websocket-protocol") {
                found.protocol = Some(value.trim_ascii().to_vec());
            } else if is("sec-websocket-extensions") {
                found.has_extensions |= !value.trim_ascii().is_empty();
            }
        }
        found.is_upgrade &= says_upgrade;
        found
    }

    /// What is wrong with them as the answer to the operation with these `random` bits; `None` if
    /// nothing is.
    pub(super) fn fault(&self, random: u64, plan: &WebSocket) -> Option<WebSocketFault> {
        let is_accepted = match self.opening {
            SocketOpening::Upgrade => {
                self.is_upgrade && self.accept == accept_of(&key(random)).as_bytes()
            }
            SocketOpening::Connect => true,
        };
        if !is_accepted {
            return Some(WebSocketFault::BadHandshake);
        }
        // A server that chose none leaves it to the client whether it goes on (RFC 6455 §4.1).
        let is_right = match &self.protocol {
            Some(chosen) => plan.protocols.iter().any(|name| name.as_bytes() == chosen),
            None => plan.protocols.is_empty(),
        };
        (!is_right || self.has_extensions).then_some(WebSocketFault::Protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_is_that_of_the_standard() {
        assert_eq!(
            accept_of("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(key(0).len(), KEY_LENGTH);
        assert_ne!(key(0), key(1));
    }
}
