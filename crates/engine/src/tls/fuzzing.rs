//! Doors for fuzzing the record layer: a server that seals whatever it likes.

use super::advance::Broken;
use super::record_cipher::RecordCipher;
use super::record_layer::RecordLayer;
use measure::Kind;
use rustls::client::UnbufferedClientConnection;
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// The client's records of a connection after its handshake, and what came that is not whole.
pub struct RecordDoor {
    layer: RecordLayer,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    plain: Vec<u8>,
}

/// The server's direction.
pub struct RecordForge {
    cipher: RecordCipher,
    version: ProtocolVersion,
}

impl RecordDoor {
    /// Takes a connection over whose handshake is done, and of which rustls holds no input.
    ///
    /// # Errors
    /// Its secrets are none that the record layer takes.
    pub fn new(connection: UnbufferedClientConnection) -> Result<RecordDoor, Kind> {
        let layer = RecordLayer::new(connection).map_err(|Broken(kind)| kind)?;
        Ok(RecordDoor {
            layer,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            plain: Vec::new(),
        })
    }

    /// Takes bytes of the server; whether it has closed its side.
    ///
    /// # Errors
    /// What breaks the connection.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, Kind> {
        self.incoming.extend_from_slice(bytes);
        let plain = &mut self.plain;
        let advance = self
            .layer
            .process(&mut self.incoming, &mut self.outgoing, &mut |bytes| {
                plain.extend_from_slice(bytes);
            })
            .map_err(|Broken(kind)| kind)?;
        self.incoming.drain(..advance.consumed);
        Ok(advance.closed)
    }

    /// All that was received.
    #[must_use]
    pub fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// Bytes that wait to be sent, and bytes of the server that make no whole record.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        (self.outgoing.len(), self.incoming.len())
    }
}

impl RecordForge {
    /// The direction with these secrets.
    ///
    /// # Errors
    /// They are none that the record layer takes.
    pub fn new(
        secrets: (u64, ConnectionTrafficSecrets),
        version: ProtocolVersion,
    ) -> Result<RecordForge, Kind> {
        let cipher = RecordCipher::new(secrets, version).map_err(|Broken(kind)| kind)?;
        Ok(RecordForge { cipher, version })
    }

    /// Goes on with other secrets, as after a key update.
    ///
    /// # Errors
    /// As [`RecordForge::new`].
    pub fn rekey(&mut self, secrets: (u64, ConnectionTrafficSecrets)) -> Result<(), Kind> {
        *self = RecordForge::new(secrets, self.version)?;
        Ok(())
    }

    /// A record of any type, valid or not in every other way.
    ///
    /// # Errors
    /// The content is longer than a record can be.
    pub fn seal(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) -> Result<(), Kind> {
        self.cipher
            .seal_one(kind, content, out)
            .map_err(|Broken(kind)| kind)
    }
}
