//! Handshakes of a worker's TLS without a socket, for benches: their cost alone, and whether
//! workers disturb each other. Runs do not use it.

use super::config::Offering;
use super::{Broken, Hello, Materials, Offer, TlsError, TlsStream, WorkerTls};
use crate::values::Values;
use measure::{HandshakeKind, Kind};
use plan::Plan;
use std::collections::BTreeSet;

/// The TLS of a plan's only worker on its only agent, with one user.
pub struct Rehearsal {
    tls: WorkerTls,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Rehearsal {
    /// Prepares it; `None` if the plan's target is plain HTTP.
    ///
    /// # Errors
    /// Fails as a run would.
    pub fn new(plan: &Plan) -> Result<Option<Rehearsal>, TlsError> {
        let Some(materials) = Materials::new(plan, 0, 1)? else {
            return Ok(None);
        };
        let tls = WorkerTls::new(&materials, &BTreeSet::from([0]), None)?;
        tls.seed_thread();
        Ok(Some(Rehearsal {
            tls,
            incoming: Vec::new(),
            outgoing: Vec::new(),
        }))
    }

    /// Does one connection's handshake. `peer` gets the client's bytes and appends the server's
    /// answer, which is empty once the server has sent everything.
    ///
    /// # Errors
    /// Fails if the handshake does; with [`Kind::Eof`] if the peer stops answering too early.
    pub fn handshake(
        &mut self,
        mut peer: impl FnMut(&[u8], &mut Vec<u8>),
    ) -> Result<HandshakeKind, Kind> {
        let offer = match self.tls.offering {
            Offering::Share(_) => Offer::Session,
            Offering::Never | Offering::Recorded(_) => Offer::Nothing,
        };
        let sessions = self.tls.sessions_of(offer);
        self.tls.sessions.begin(0, 0, sessions);
        self.tls.identities.select(0);
        self.incoming.clear();
        self.outgoing.clear();
        let broken = |Broken(kind)| kind;
        let hello = Hello {
            name: self.tls.names(0).name(Values::default),
            offer,
            early: None,
            has_identity: true,
        };
        let mut stream = TlsStream::new(&self.tls, hello, &mut self.outgoing).map_err(broken)?;
        loop {
            let before = self.incoming.len();
            peer(&self.outgoing, &mut self.incoming);
            self.outgoing.clear();
            if self.incoming.len() == before {
                return if stream.is_handshaking() {
                    Err(Kind::Eof)
                } else {
                    Ok(stream.handshake_kind())
                };
            }
            let advance = stream
                .process(&mut self.incoming, &mut self.outgoing, &mut |_| {})
                .map_err(broken)?;
            self.incoming.drain(..advance.consumed);
        }
    }
}
