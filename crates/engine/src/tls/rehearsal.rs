//! Handshakes of a worker's own TLS without a socket, for benches: what they cost alone, and
//! whether workers disturb each other. Nothing of a run goes through here.

use super::{Broken, Materials, TlsError, TlsStream, WorkerTls};
use measure::{HandshakeKind, Kind};
use plan::Plan;
use std::collections::BTreeSet;

/// TLS as the only worker of the only agent of a plan has it, with one user.
pub struct Rehearsal {
    tls: WorkerTls,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Rehearsal {
    /// `None` where the plan's target is plain HTTP.
    ///
    /// # Errors
    /// As for a run.
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

    /// One connection's handshake. `peer` is given what the client says and adds what the server
    /// answers, which is nothing once it has said everything.
    ///
    /// # Errors
    /// What broke; [`Kind::Eof`] where the peer falls silent too early.
    pub fn handshake(
        &mut self,
        mut peer: impl FnMut(&[u8], &mut Vec<u8>),
    ) -> Result<HandshakeKind, Kind> {
        let offering = self.tls.offering_share > 0.0;
        self.tls.sessions.begin(0, 0, offering);
        self.tls.identities.select(0);
        self.incoming.clear();
        self.outgoing.clear();
        let broken = |Broken(kind)| kind;
        let mut stream =
            TlsStream::new(&self.tls, offering, None, &mut self.outgoing).map_err(broken)?;
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
