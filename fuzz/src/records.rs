//! The TLS record layer after a real handshake: a server that seals what no server should, and
//! bytes that were never sealed.

use crate::script::{Script, pieces};
use engine::fuzzing::{RecordDoor, RecordForge};
use measure::Kind;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::kernel::KernelConnection;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, ServerConfig, SupportedCipherSuite};
use std::sync::{Arc, OnceLock};

/// Records of one script; each costs one seal and two opens.
const RECORDS_MAX: usize = 256;

/// Flights after which a handshake is complete.
const FLIGHTS_MAX: usize = 3;

/// What a connection may hold back: one incomplete record.
const HELD_MAX_BYTES: usize = 18 * 1024 + 5;

/// What a connection may answer: one alert for each record that deserves it, and one key update.
const ANSWERS_MAX_BYTES: usize = 64 * 1024;

/// Two bytes (cipher suite, how the bytes are split), then records with type and content, or raw
/// bytes.
pub fn records(data: &[u8]) {
    let mut script = Script::new(data);
    let suite = usize::from(script.byte());
    let seed = script.byte();
    let at_once = connection(suite, script.clone(), |bytes| vec![bytes]);
    let in_pieces = connection(suite, script, |bytes| pieces(bytes, seed).collect());
    assert_eq!(at_once, in_pieces, "the pieces matter");
}

/// What got through, and how the connection ended.
fn connection(
    suite: usize,
    mut script: Script<'_>,
    cut: impl Fn(&[u8]) -> Vec<&[u8]>,
) -> (Vec<u8>, Result<bool, Kind>) {
    let (mut door, mut server) = connected(suite);
    let mut end = Ok(false);
    for _ in 0..RECORDS_MAX {
        if script.is_over() || end != Ok(false) {
            break;
        }
        let wire = server.record(&mut script);
        for piece in cut(&wire) {
            end = door.feed(piece);
            if end != Ok(false) {
                break;
            }
            let (answers, held) = door.waiting();
            assert!(held <= HELD_MAX_BYTES && answers <= ANSWERS_MAX_BYTES);
        }
    }
    (door.plain().to_vec(), end)
}

/// A server that sends anything.
struct Server {
    kernel: KernelConnection<ServerConnectionData>,
    forge: RecordForge,
}

impl Server {
    fn record(&mut self, script: &mut Script<'_>) -> Vec<u8> {
        let mut wire = Vec::new();
        match script.byte() {
            // Not sealed.
            0 => return script.bytes().to_vec(),
            // A key update, which the server itself applies too.
            1 if self.kernel.protocol_version() == ProtocolVersion::TLSv1_3 => {
                let asks = script.byte() & 1;
                self.seal(22, &[24, 0, 0, 1, asks], &mut wire);
                let secrets = self.kernel.update_tx_secret().expect("TLS 1.3 has another");
                self.forge.rekey(secrets).expect("of the same suite");
            }
            // Sealed, then corrupted.
            2 => {
                let at = usize::from(script.short());
                self.seal(23, script.bytes(), &mut wire);
                let length = wire.len();
                wire[at % length] ^= 1 << (at % 8);
            }
            kind @ 3..=7 => self.seal(20 + (kind - 3), script.bytes(), &mut wire),
            kind => self.seal(kind, script.bytes(), &mut wire),
        }
        wire
    }

    fn seal(&mut self, kind: u8, content: &[u8], wire: &mut Vec<u8>) {
        // Below the u16 of a record's length, whatever sealing adds.
        let content = &content[..content.len().min(u16::MAX as usize - 64)];
        let sealed = self.forge.seal(kind, content, wire);
        sealed.expect("a record can be sealed");
    }
}

/// The configurations of both ends for a suite, shared by all connections.
type Ends = (Arc<ClientConfig>, Arc<ServerConfig>);

fn ends(suite: usize) -> &'static Ends {
    static ENDS: OnceLock<Vec<Ends>> = OnceLock::new();
    let all = ENDS.get_or_init(|| aws_lc_rs::ALL_CIPHER_SUITES.iter().map(made).collect());
    &all[suite % all.len()]
}

fn made(suite: &SupportedCipherSuite) -> Ends {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![*suite],
        ..aws_lc_rs::default_provider()
    });
    let algorithm = if format!("{suite:?}").contains("RSA") {
        &rcgen::PKCS_RSA_SHA256
    } else {
        &rcgen::PKCS_ECDSA_P256_SHA256
    };
    let key = rcgen::KeyPair::generate_for(algorithm).expect("makes a key");
    let named = rcgen::CertificateParams::new(["localhost".to_owned()]);
    let certificate = named
        .and_then(|named| named.self_signed(&key))
        .expect("is signed");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("is a key");
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).expect("is a root");
    let versions = [suite.version()];
    let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .expect("a client's versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.enable_secret_extraction = true;
    client.resumption = rustls::client::Resumption::disabled();
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .expect("a server's versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a server's certificate");
    server.enable_secret_extraction = true;
    // Tickets would have to be read before the keys are extracted.
    server.send_tls13_tickets = 0;
    (Arc::new(client), Arc::new(server))
}

fn connected(suite: usize) -> (RecordDoor, Server) {
    let (client, server) = ends(suite);
    let name = ServerName::try_from("localhost").expect("is a name");
    let mut client = UnbufferedClientConnection::new(Arc::clone(client), name).expect("a client");
    let mut server = UnbufferedServerConnection::new(Arc::clone(server)).expect("a server");
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    for _ in 0..FLIGHTS_MAX {
        loop {
            let status = client.process_tls_records(&mut to_client);
            let (discard, goes_on) = step(status, &mut to_server);
            to_client.drain(..discard);
            if !goes_on {
                break;
            }
        }
        loop {
            let status = server.process_tls_records(&mut to_server);
            let (discard, goes_on) = step(status, &mut to_client);
            to_server.drain(..discard);
            if !goes_on {
                break;
            }
        }
    }
    assert!(
        !client.is_handshaking() && !server.is_handshaking(),
        "no handshake"
    );
    let (secrets, kernel) = server
        .dangerous_into_kernel_connection()
        .expect("the server's secrets");
    let forge = RecordForge::new(secrets.tx, kernel.protocol_version());
    (
        RecordDoor::new(client).expect("the client's secrets"),
        Server {
            kernel,
            forge: forge.expect("a server's direction"),
        },
    )
}

/// Acts on one status. Returns how many input bytes are done with, and whether to continue at once.
fn step<Data>(status: UnbufferedStatus<'_, '_, Data>, outgoing: &mut Vec<u8>) -> (usize, bool) {
    match status.state.expect("the handshake goes well") {
        ConnectionState::EncodeTlsData(mut data) => {
            let mut room = [0; 4096];
            let length = data.encode(&mut room).expect("there is room");
            outgoing.extend_from_slice(&room[..length]);
            (status.discard, true)
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done();
            (status.discard, true)
        }
        _ => (status.discard, false),
    }
}
