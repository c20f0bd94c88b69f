//! Operations and recorders for the tests of this folder.

use measure::{
    CellId, Chain, Handshake, HandshakeKind, Negotiated, Operation, OperationEnd, Period, Recorder,
};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

pub fn key(request: u16, address: u16) -> CellId {
    CellId {
        period: Period::Measured,
        request,
        address,
    }
}

/// One worker with three addresses, indices 1 to 3.
pub fn recorder(requests: u16) -> Recorder {
    let mut recorder = Recorder::new(requests);
    for last in 1..=3 {
        assert_eq!(
            recorder.address(([10, 0, 0, last], 443).into()),
            u16::from(last)
        );
    }
    recorder
}

/// An operation of an open loop on an open connection: 5 ms late (2 of them until it was noticed),
/// 1 ms to write, 10 ms to the first byte, 2 ms to read.
pub fn operation(intended_at: u64) -> Operation {
    let begun_at = intended_at + 5 * MS;
    Operation {
        key: key(0, 1),
        intended_at,
        noticed_at: Some(intended_at + 2 * MS),
        begun_at,
        tried_at: begun_at,
        ready_at: None,
        sent_at: Some(begun_at),
        written_at: Some(begun_at + MS),
        first_byte_at: Some(begun_at + 10 * MS),
        done_at: begun_at + 12 * MS,
        dns: None,
        connect: None,
        handshake: None,
        end: OperationEnd::Ok,
        status: Some(200),
        payload_bytes: 356,
    }
}

pub fn negotiated(kind: HandshakeKind) -> Negotiated {
    let signature_scheme = if kind.is_resumed() { 0 } else { 0x0403 };
    let alpn = "http/1.1".to_owned();
    Negotiated {
        version: 0x0304,
        suite: 0x1302,
        group: 0x001d,
        signature_scheme,
        alpn,
        kind,
        ocsp_staple: None,
    }
}

pub fn chain() -> Chain {
    Chain {
        sha256: [7; 32],
        key: "ECDSA P-256".to_owned(),
        certificates: 2,
        bytes: 1234,
    }
}

pub fn handshake<'a>(
    negotiated: &'a Negotiated,
    chain: Option<&'a Chain>,
    offered: bool,
) -> Handshake<'a> {
    let (offered, bytes_sent, bytes_received) = (offered.then_some(1), 300, 2000);
    Handshake {
        negotiated,
        chain,
        offered,
        none_at_hand: false,
        early_data: None,
        bytes_sent,
        bytes_received,
    }
}
