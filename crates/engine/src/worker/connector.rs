//! The purpose of a new connection, its addresses, and whether it offers a session.

use crate::clock::RunClock;
use crate::connection::{ConnectionUse, WorkerConnection};
use crate::endpoints::Endpoints;
use crate::local_ports::LocalPorts;
use crate::resolver::Question;
use crate::socket::Socket;
use crate::tls::Offer;
use measure::{CellId, Kind};
use plan::{Close, HttpVersion, Plan, ProxyProtocol, RequestsPerConnection};
use std::net::SocketAddr;

/// The plan's rules for every connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionRules {
    pub(super) close: Close,
    /// A handshake without a request counts as confirmed once the server closes.
    pub(super) confirm: bool,
    /// Requests that a connection may carry; 0 if it is opened for its handshake alone.
    pub(super) requests_each: u32,
    /// The header that each connection begins with.
    pub(super) proxy: Option<ProxyProtocol>,
    purpose: ConnectionUse,
}

impl ConnectionRules {
    pub(super) fn new(plan: &Plan) -> ConnectionRules {
        let requests_each = match plan.connection().requests {
            RequestsPerConnection::HandshakeOnly => 0,
            RequestsPerConnection::Limited(number) => number.get(),
            RequestsPerConnection::Unlimited => u32::MAX,
        };
        let purpose = match plan.connection().http {
            HttpVersion::Http2 { streams } if requests_each > 0 => ConnectionUse::Lanes {
                lanes: streams,
                has_checks: plan.requests().iter().any(plan::Request::is_watched),
                has_sockets: plan.requests().iter().any(|it| it.websocket.is_some()),
            },
            HttpVersion::Http2 { .. } | HttpVersion::Http11 => ConnectionUse::OneLane,
        };
        ConnectionRules {
            purpose,
            close: plan.connection().close,
            confirm: plan.connection().confirm,
            requests_each,
            proxy: plan.connection().proxy_protocol,
        }
    }

    /// Whether operations are handshakes without a request.
    #[inline]
    pub(super) fn is_handshake_only(self) -> bool {
        self.requests_each == 0
    }
}

/// Opens a worker's connections.
pub(super) struct Connector {
    /// By place among the target's destinations.
    endpoints: Vec<Endpoints>,
    /// Whether names are looked up during the run.
    looks_up: bool,
    ports: LocalPorts,
    /// The fractional rest of the handshakes that should have offered a session.
    offering: f64,
}

/// The properties of a new connection.
pub(super) struct NewConnection {
    pub(super) address: SocketAddr,
    pub(super) rules: ConnectionRules,
    /// The destination that the address is of.
    pub(super) origin: u16,
    /// The cell that its bytes are counted under.
    pub(super) id: CellId,
    pub(super) connect_at: u64,
}

impl Connector {
    pub(super) fn new(endpoints: Vec<Endpoints>) -> Connector {
        Connector {
            looks_up: endpoints.iter().any(Endpoints::look_up),
            endpoints,
            ports: LocalPorts::default(),
            offering: 0.0,
        }
    }

    /// The addresses of a destination.
    #[inline]
    pub(super) fn endpoints(&mut self, origin: u16) -> &mut Endpoints {
        &mut self.endpoints[usize::from(origin)]
    }

    /// Whether connections to a destination are encrypted.
    #[inline]
    pub(super) fn encrypts(&self, origin: u16) -> bool {
        self.endpoints[usize::from(origin)].are_encrypted()
    }

    /// Whether redirects may lead to other destinations.
    pub(super) fn has_others(&self) -> bool {
        self.endpoints.len() > 1
    }

    /// Returns the next finished lookup of an operation, with the address to connect to.
    #[inline]
    pub(super) fn answer(&mut self, now: u64) -> Option<(Question, Result<SocketAddr, Kind>)> {
        if !self.looks_up {
            return None;
        }
        let mut endpoints = self.endpoints.iter_mut();
        endpoints.find_map(|endpoints| endpoints.answer(now))
    }

    /// What one more handshake is to offer, so that `share` of them offer a session: carrying the
    /// remainder makes the share exact over many.
    pub(super) fn offer(&mut self, share: f64) -> Offer {
        self.offering += share;
        if self.offering < 1.0 {
            return Offer::Nothing;
        }
        self.offering -= 1.0;
        Offer::Session
    }

    /// Starts to connect.
    pub(super) fn connect(
        &mut self,
        new: NewConnection,
        clock: RunClock,
    ) -> Result<WorkerConnection, Kind> {
        let to = (new.origin, new.address);
        let socket = self.socket(to, new.connect_at, clock)?;
        Ok(WorkerConnection::new(
            socket,
            new.rules.purpose,
            new.rules.requests_each,
            new.id,
            new.connect_at,
        ))
    }

    /// Opens a socket from the first source, in turn, that has a port for it.
    fn socket(
        &mut self,
        (origin, address): (u16, SocketAddr),
        mut now: u64,
        clock: RunClock,
    ) -> Result<Socket, Kind> {
        let endpoints = &mut self.endpoints[usize::from(origin)];
        for _ in 0..endpoints.sources_to(address).max(1) {
            let pair = (endpoints.source(address), address);
            if !self.ports.may_look(pair, now) {
                continue;
            }
            match Socket::connect(address, pair.0) {
                Err(Kind::PortsExhausted) => {
                    let begun_at = std::mem::replace(&mut now, clock.now());
                    self.ports.all_taken(pair, begun_at, now);
                }
                connected => return connected,
            }
        }
        Err(Kind::PortsExhausted)
    }
}
