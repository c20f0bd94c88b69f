//! Entry points for fuzzing the record layer, with a server that seals whatever it likes.

use super::advance::Broken;
use super::record_cipher::RecordCipher;
use super::record_layer::RecordLayer;
use measure::Kind;
use rustls::client::UnbufferedClientConnection;
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// The client's records of a connection after its handshake, and input that is not a whole record
/// yet.
pub struct RecordDoor {
    layer: RecordLayer,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    plain: Vec<u8>,
}

/// The direction from the server.
pub struct RecordForge {
    cipher: RecordCipher,
    version: ProtocolVersion,
}

impl RecordDoor {
    /// Takes over a connection whose handshake is done, and for which rustls holds no input.
    ///
    /// # Errors
    /// Fails if the record layer does not support its secrets.
    pub fn new(connection: UnbufferedClientConnection) -> Result<RecordDoor, Kind> {
        let layer = RecordLayer::new(connection).map_err(|Broken(kind)| kind)?;
        Ok(RecordDoor {
            layer,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            plain: Vec::new(),
        })
    }

    /// Feeds it bytes of the server. Returns whether the server has closed its side.
    ///
    /// # Errors
    /// Fails if they break the connection.
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

    /// Everything that was received.
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
    /// Creates the direction with these secrets.
    ///
    /// # Errors
    /// Fails if the record layer does not support them.
    pub fn new(
        secrets: (u64, ConnectionTrafficSecrets),
        version: ProtocolVersion,
    ) -> Result<RecordForge, Kind> {
        let cipher = RecordCipher::new(secrets, version).map_err(|Broken(kind)| kind)?;
        Ok(RecordForge { cipher, version })
    }

    /// Continues with other secrets, as after a key update.
    ///
    /// # Errors
    /// As [`RecordForge::new`].
    pub fn rekey(&mut self, secrets: (u64, ConnectionTrafficSecrets)) -> Result<(), Kind> {
        *self = RecordForge::new(secrets, self.version)?;
        Ok(())
    }

    /// Seals a record of any type, valid or not in every other respect.
    ///
    /// # Errors
    /// Fails if the content is longer than a record can be.
    pub fn seal(&mut self, kind: u8, content: &[u8], out: &mut Vec<u8>) -> Result<(), Kind> {
        self.cipher
            .seal_one(kind, content, out)
            .map_err(|Broken(kind)| kind)
    }
}
