//! What a handshake offers: a session or none, and of a replay which of the log's handshakes it
//! repeats.

use rustls::pki_types::ServerName;

/// What a handshake offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Offer {
    /// A full handshake.
    #[default]
    Nothing,
    /// A session, if there is one.
    Session,
    /// As the handshake of the log at this place among its kinds.
    Recorded(u32),
}

/// What a ClientHello is made of.
pub(crate) struct Hello<'a> {
    pub(crate) name: ServerName<'static>,
    pub(crate) offer: Offer,
    /// A request that goes with it.
    pub(crate) early: Option<&'a [u8]>,
    /// Whether the user's certificate is presented if the server asks for one.
    pub(crate) has_identity: bool,
}

/// The versions whose sessions may be offered, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionVersions(u8);

impl SessionVersions {
    pub(crate) const NONE: SessionVersions = SessionVersions(0);
    pub(crate) const TLS12: SessionVersions = SessionVersions(1);
    pub(crate) const TLS13: SessionVersions = SessionVersions(2);
    pub(crate) const ANY: SessionVersions = SessionVersions(3);

    pub(super) fn from_bits(bits: u8) -> SessionVersions {
        SessionVersions(bits)
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Whether those of `version` are among them.
    pub(super) fn has(self, version: SessionVersions) -> bool {
        self.0 & version.0 != 0
    }
}
