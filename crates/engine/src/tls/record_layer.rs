//! A connection after its handshake, without rustls's record layer, which allocates a vector for
//! every record.
//!
//! rustls still owns the secrets: it derives those of a key update, and keeps the tickets that
//! arrive.

use super::advance::{Advance, Broken};
use super::record_cipher::{OpenedRecord, RecordCipher, alert, content};
use measure::Kind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

/// Messages after a handshake (RFC 8446 §4).
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
/// The message by which a TLS 1.2 server asks to renegotiate (RFC 5246 §7.4.1.1).
const HELLO_REQUEST: u8 = 0;
/// Largest message after a handshake; tickets are far smaller.
const MAX_MESSAGE: usize = 64 * 1024;
/// Most key updates and requests to renegotiate without data between them; rustls tolerates as many
/// updates.
const MAX_WISHES: u32 = 32;
/// Records under one TLS 1.3 key before it is changed (RFC 8446 §5.5). TLS 1.2 cannot change its
/// key.
const KEY_LIFE: u64 = 1 << 24;
/// Alert levels (RFC 8446 §6).
const FATAL: u8 = 2;
const WARNING: u8 = 1;

/// The records of one connection, sealed and opened by us; rustls is only asked for keys and
/// tickets.
///
/// With rustls's own records an HTTPS keep-alive request costs 1.24 times the instructions
/// (`benches/README.md`).
pub(super) struct RecordLayer {
    kernel: KernelConnection<ClientConnectionData>,
    version: ProtocolVersion,
    sealer: RecordCipher,
    opener: RecordCipher,
    /// A handshake message that is not complete yet.
    message: Vec<u8>,
    /// Key updates and requests to renegotiate since data last arrived.
    wishes: u32,
    /// The peer has asked us to change our key.
    is_asked: bool,
    closed: bool,
}

impl RecordLayer {
    /// Takes over a connection whose handshake is done, and for which rustls holds no input.
    pub(super) fn new(connection: UnbufferedClientConnection) -> Result<RecordLayer, Broken> {
        let refused = |_| Broken(Kind::BadTls);
        let (secrets, kernel) = connection
            .dangerous_into_kernel_connection()
            .map_err(refused)?;
        let version = kernel.protocol_version();
        let sealer = RecordCipher::new(secrets.tx, version)?;
        let opener = RecordCipher::new(secrets.rx, version)?;
        Ok(RecordLayer {
            kernel,
            version,
            sealer,
            opener,
            message: Vec::new(),
            wishes: 0,
            is_asked: false,
            closed: false,
        })
    }

    /// Appends `plain` to `outgoing`, encrypted.
    pub(super) fn encrypt(&mut self, plain: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        let is_worn = self.sealer.sequence() >= KEY_LIFE;
        // TLS 1.2 has no message that changes a key.
        if is_worn && self.version == ProtocolVersion::TLSv1_3 {
            self.change_key(outgoing)?;
        }
        self.sealer.seal(content::APPLICATION_DATA, plain, outgoing)
    }

    /// Appends a close_notify to `outgoing`.
    pub(super) fn close(&mut self, outgoing: &mut Vec<u8>) {
        // If sealing fails the alert is not sent.
        let _ = self
            .sealer
            .seal(content::ALERT, &[WARNING, alert::CLOSE_NOTIFY], outgoing);
    }

    /// Processes bytes from the socket; plaintext goes to `sink`, bytes to send go to `outgoing`.
    pub(super) fn process(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Vec<u8>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Advance, Broken> {
        let mut consumed = 0;
        while !self.closed {
            match self.opener.open(&mut incoming[consumed..]) {
                Ok(None) => break,
                Ok(Some((
                    length,
                    OpenedRecord {
                        kind: content::APPLICATION_DATA,
                        plain,
                    },
                ))) if self.message.is_empty() => {
                    sink(plain);
                    self.wishes = 0;
                    consumed += length;
                }
                Ok(Some((length, OpenedRecord { kind, plain }))) => {
                    let taken = match kind {
                        content::HANDSHAKE => take_handshake(&mut self.message, plain),
                        content::ALERT if self.message.is_empty() => {
                            Ok(Some(self.take_alert(plain)?))
                        }
                        _ => Err(alert::UNEXPECTED_MESSAGE),
                    };
                    consumed += length;
                    match taken {
                        Ok(Some(closed)) => self.closed = closed,
                        Ok(None) => self.take_messages(outgoing)?,
                        Err(code) => return Err(self.refuse(code, outgoing)),
                    }
                }
                Err(code) => return Err(self.refuse(code, outgoing)),
            }
        }
        // One answer to all key-update requests of this read (RFC 8446 §4.6.3).
        if std::mem::take(&mut self.is_asked) {
            self.change_key(outgoing)?;
        }
        Ok(Advance {
            consumed,
            closed: self.closed,
        })
    }

    /// Returns whether the peer has closed its side; the error is the alert that it sent.
    fn take_alert(&self, plain: &[u8]) -> Result<bool, Broken> {
        let &[level, code] = plain else {
            return Err(Broken(Kind::BadTls));
        };
        // In TLS 1.3 all other alerts are fatal, whatever level they claim (RFC 8446 §6).
        let is_warning = code == alert::USER_CANCELED
            || (self.version != ProtocolVersion::TLSv1_3 && level == WARNING);
        match code {
            alert::CLOSE_NOTIFY => Ok(true),
            _ if is_warning => Ok(false),
            _ => Err(Broken(Kind::AlertReceived(code))),
        }
    }

    /// Acts on the handshake messages that are complete.
    fn take_messages(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        while let Some(&[kind, l0, l1, l2]) = self.message.first_chunk::<4>() {
            let end = 4 + u32::from_be_bytes([0, l0, l1, l2]) as usize;
            if end > MAX_MESSAGE {
                return Err(self.refuse(alert::DECODE_ERROR, outgoing));
            }
            if self.message.len() < end {
                return Ok(());
            }
            let taken = self.take_message(kind, end, outgoing);
            self.message.drain(..end);
            taken?;
        }
        Ok(())
    }

    fn take_message(&mut self, kind: u8, end: usize, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        match (self.version, kind) {
            (ProtocolVersion::TLSv1_3, NEW_SESSION_TICKET) => {
                match self.kernel.handle_new_session_ticket(&self.message[4..end]) {
                    Ok(()) => Ok(()),
                    Err(_) => Err(self.refuse(alert::DECODE_ERROR, outgoing)),
                }
            }
            (ProtocolVersion::TLSv1_3, KEY_UPDATE) => {
                // Nothing under the old key may follow it in its record (RFC 8446 §5.1).
                self.wishes += 1;
                if self.message.len() != end || self.wishes > MAX_WISHES {
                    return Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing));
                }
                match self.message[4..end] {
                    [asked @ (0 | 1)] => self.is_asked |= asked == 1,
                    _ => return Err(self.refuse(alert::DECODE_ERROR, outgoing)),
                }
                let secrets = self
                    .kernel
                    .update_rx_secret()
                    .map_err(|_| Broken(Kind::BadTls))?;
                self.opener = RecordCipher::new(secrets, self.version)?;
                Ok(())
            }
            (ProtocolVersion::TLSv1_2, HELLO_REQUEST) => self.decline(end, outgoing),
            _ => Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing)),
        }
    }

    /// Declines a HelloRequest, so that the server can continue or give up; a server that gets no
    /// answer may wait for ever (RFC 5246 §7.2.2).
    fn decline(&mut self, end: usize, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        self.wishes += 1;
        if end != 4 || self.wishes > MAX_WISHES {
            return Err(self.refuse(alert::UNEXPECTED_MESSAGE, outgoing));
        }
        self.sealer.seal(
            content::ALERT,
            &[WARNING, alert::NO_RENEGOTIATION],
            outgoing,
        )
    }

    /// Announces that our key changes, and changes it.
    fn change_key(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Broken> {
        self.sealer
            .seal(content::HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], outgoing)?;
        let secrets: (u64, ConnectionTrafficSecrets) = self
            .kernel
            .update_tx_secret()
            .map_err(|_| Broken(Kind::BadTls))?;
        self.sealer = RecordCipher::new(secrets, self.version)?;
        Ok(())
    }

    /// Sends the alert that explains why the connection cannot continue.
    fn refuse(&mut self, code: u8, outgoing: &mut Vec<u8>) -> Broken {
        let _ = self.sealer.seal(content::ALERT, &[FATAL, code], outgoing);
        Broken(Kind::AlertSent(code))
    }
}

/// Appends to the incomplete handshake message; no fragment may be empty (RFC 8446 §5.1). `None`
/// means that there is something to look at.
fn take_handshake(message: &mut Vec<u8>, plain: &[u8]) -> Result<Option<bool>, u8> {
    if plain.is_empty() {
        return Err(alert::UNEXPECTED_MESSAGE);
    }
    message.extend_from_slice(plain);
    Ok(None)
}

#[cfg(test)]
mod tests;
