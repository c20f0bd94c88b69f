//! Dials a coordinator: from an address and a token to an open stream, or to a sentence that says
//! why not.

use super::CoordinatorAddress;

use super::upstream::{UpstreamSender, upstream};
use super::verifier::{client_config, server_name};
use control::{Disconnection, Finality, Token};
use hyper_util::rt::TokioIo;
use proto::control_client::ControlClient;
use proto::{FromCoordinator, MESSAGE_MAX_BYTES};
use rustix::net::sockopt::set_tcp_user_timeout;
use rustls::ClientConfig;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

/// Time for each step: looking up, connecting, encrypting and attaching.
const STEP_MAX: Duration = Duration::from_secs(5);

/// In haste, an unanswered connection is opened again beside the first, at this interval: the
/// system repeats a lost SYN after 1, 3 and 7 s.
const ONCE_MORE: Duration = Duration::from_millis(500);

/// How often HTTP/2 asks for a sign of life, and how long it waits for one.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// In haste, a connection is given up if what was sent on it is not acknowledged for this long
/// after it was first repeated: TCP repeats at intervals that double, so that after a cut of two
/// seconds a lease of five can run out before the next one.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_millis(1_500);

/// Only a label here: the connection is already made and encrypted.
const ORIGIN: &str = "http://coordinator.cannonade";

/// How urgently a coordinator is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    Usual,
    /// A lease is running out in the meantime.
    Leased,
}

/// Dials one coordinator, as often as needed.
pub(super) struct Dialler {
    address: CoordinatorAddress,
    /// The address at which the coordinator answered last.
    last_answered: Mutex<Option<SocketAddr>>,
    tls: TlsConnector,
    authorization: MetadataValue<Ascii>,
}

/// An open stream; it ends when this is dropped.
pub(super) struct OpenStream {
    pub(super) incoming: Streaming<FromCoordinator>,
    pub(super) outgoing: UpstreamSender,
    /// A second handle of the connection's socket.
    socket: OwnedFd,
    haste: Haste,
    /// Keeps the connection open.
    _channel: Channel,
}

impl OpenStream {
    /// Sets how soon the connection is given up when nothing gets through.
    pub(super) fn set_haste(&mut self, haste: Haste) {
        if self.haste == haste {
            return;
        }
        self.haste = haste;
        let limit_ms = match haste {
            // The system's own limit, which is many minutes: a slow link is not a dead one.
            Haste::Usual => 0,
            Haste::Leased => UNACKNOWLEDGED_MAX.as_millis() as u32,
        };
        // Without it the silence is noticed later.
        let _ = set_tcp_user_timeout(&self.socket, limit_ms);
    }
}

impl Dialler {
    pub(super) fn new(
        address: CoordinatorAddress,
        token: &Token,
    ) -> Result<Dialler, rustls::Error> {
        let config: Arc<ClientConfig> = Arc::new(client_config(token)?);
        let mut authorization: MetadataValue<Ascii> =
            token.secret().bearer().parse().expect("base64url is ASCII");
        authorization.set_sensitive(true);
        Ok(Dialler {
            address,
            last_answered: Mutex::default(),
            tls: TlsConnector::from(config),
            authorization,
        })
    }

    /// Tries once, one step after the other.
    pub(super) async fn dial(&self, haste: Haste) -> Result<OpenStream, Disconnection> {
        let (tcp, address) = self.connect(haste).await?;
        let socket = tcp
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| retry(format!("cannot keep the connection's socket: {error}")))?;
        let tls = self.encrypt(tcp).await?;
        let stream = self.attach(tls, socket).await?;
        *self.last_answered() = Some(address);
        Ok(stream)
    }

    fn last_answered(&self) -> MutexGuard<'_, Option<SocketAddr>> {
        self.last_answered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the first of the host's addresses that answers. It begins with the one at which
    /// the coordinator answered last: a lease can run out while a dead one is waited for.
    async fn connect(&self, haste: Haste) -> Result<(TcpStream, SocketAddr), Disconnection> {
        let mut refusal = retry(format!("{} has no address", self.address.host()));
        let answered = *self.last_answered();
        for address in put_first(answered, self.resolve().await?) {
            match timeout(STEP_MAX, open(address, haste)).await {
                Ok(Ok(tcp)) => {
                    // Beats are small, and must not wait for more data.
                    let _ = tcp.set_nodelay(true);
                    return Ok((tcp, address));
                }
                Ok(Err(error)) => refusal = self.explain_refusal(address, &error),
                Err(_) => {
                    refusal = retry(format!(
                        "no answer from {address} within 5 s; is it the right address, and does a \
                         firewall let it through?"
                    ))
                }
            }
        }
        Err(refusal)
    }

    async fn resolve(&self) -> Result<Vec<SocketAddr>, Disconnection> {
        let host = self.address.host();
        let port = self.address.port();
        match timeout(STEP_MAX, tokio::net::lookup_host((host, port))).await {
            Ok(Ok(addresses)) => Ok(addresses.collect()),
            Ok(Err(error)) => Err(retry(format!(
                "cannot look up {host}: {error}; check the name, or write an address"
            ))),
            Err(_) => Err(retry(format!(
                "cannot look up {host}: no answer within 5 s; check the name server, or write an \
                 address"
            ))),
        }
    }

    fn explain_refusal(&self, address: SocketAddr, error: &io::Error) -> Disconnection {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Disconnection {
                why: format!(
                    "no program listens on {address} yet; is `coordinator start` running there?"
                ),
                finality: Finality::Nobody,
            },
            _ => retry(format!("cannot connect to {address}: {error}")),
        }
    }

    async fn encrypt(&self, tcp: TcpStream) -> Result<TlsStream<TcpStream>, Disconnection> {
        match timeout(STEP_MAX, self.tls.connect(server_name(), tcp)).await {
            Ok(Ok(tls)) => Ok(tls),
            Ok(Err(error)) => Err(self.not_the_coordinator(&error)),
            Err(_) => Err(retry(format!(
                "{} does not answer as a coordinator does; is it one?",
                self.address
            ))),
        }
    }

    fn not_the_coordinator(&self, error: &io::Error) -> Disconnection {
        let tls = error
            .get_ref()
            .and_then(|error| error.downcast_ref::<rustls::Error>());
        match tls {
            Some(rustls::Error::InvalidCertificate(_)) => Disconnection {
                why: format!(
                    "{} is not the coordinator that the token is for: its certificate comes from \
                     another authority; use the token that this coordinator's `start` prints",
                    self.address
                ),
                finality: Finality::Final,
            },
            Some(tls) => retry(format!(
                "{} does not speak as a coordinator does ({tls}); is it one?",
                self.address
            )),
            None => retry(format!(
                "the connection to {} broke while it was encrypted: {error}",
                self.address
            )),
        }
    }

    async fn attach(
        &self,
        tls: TlsStream<TcpStream>,
        socket: OwnedFd,
    ) -> Result<OpenStream, Disconnection> {
        let channel = timeout(STEP_MAX, channel(tls))
            .await
            .unwrap_or_else(|_| Err("no HTTP/2 within 5 s".into()));
        let channel = channel
            .map_err(|error| retry(format!("{} does not take a stream: {error}", self.address)))?;
        let mut client = ControlClient::new(channel.clone())
            .max_decoding_message_size(MESSAGE_MAX_BYTES)
            .max_encoding_message_size(MESSAGE_MAX_BYTES);
        let (outgoing, stream) = upstream();
        let mut request = Request::new(stream);
        request
            .metadata_mut()
            .insert("authorization", self.authorization.clone());
        match timeout(STEP_MAX, client.attach(request)).await {
            Ok(Ok(response)) => Ok(OpenStream {
                incoming: response.into_inner(),
                outgoing,
                socket,
                haste: Haste::Usual,
                _channel: channel,
            }),
            Ok(Err(status)) => Err(self.stream_refusal(&status)),
            Err(_) => Err(retry(format!(
                "{} does not take a stream: no answer within 5 s",
                self.address
            ))),
        }
    }

    fn stream_refusal(&self, status: &Status) -> Disconnection {
        let code = status.code();
        let text = status.message();
        match code {
            Code::Unauthenticated => Disconnection {
                why: format!(
                    "the coordinator at {} does not accept the token: {text}; use the one that \
                     its `start` prints",
                    self.address
                ),
                finality: Finality::Final,
            },
            Code::Unimplemented => Disconnection {
                why: format!(
                    "{} is a coordinator of another version: {text}; install the same version on \
                     both",
                    self.address
                ),
                finality: Finality::Final,
            },
            _ => retry(format!("{} does not take a stream: {text}", self.address)),
        }
    }
}

/// The others stay in their order.
fn put_first(first: Option<SocketAddr>, mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    addresses.sort_by_key(|address| Some(*address) != first);
    addresses
}

async fn open(address: SocketAddr, haste: Haste) -> io::Result<TcpStream> {
    let connect = move || TcpStream::connect(address);
    match haste {
        Haste::Usual => connect().await,
        Haste::Leased => first_of(connect).await,
    }
}

/// Returns the result of the first try that ends. Each one begins [`ONCE_MORE`] after the one
/// before.
async fn first_of<T, F>(one_try: impl Fn() -> F) -> io::Result<T>
where
    T: Send + 'static,
    F: Future<Output = io::Result<T>> + Send + 'static,
{
    let mut tries = JoinSet::new();
    loop {
        tries.spawn(one_try());
        if let Ok(Some(ended)) = timeout(ONCE_MORE, tries.join_next()).await {
            return ended.unwrap_or_else(|error| Err(io::Error::other(error)));
        }
    }
}

/// Sets up HTTP/2 over a connection that is already made.
async fn channel(tls: TlsStream<TcpStream>) -> Result<Channel, String> {
    let mut connection = Some(TokioIo::new(tls));
    let connector = tower::service_fn(move |_| {
        // A channel that has lost its connection asks again, but dialling is up to the session.
        std::future::ready(
            connection
                .take()
                .ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)),
        )
    });
    Endpoint::from_static(ORIGIN)
        // How much the coordinator may send before it is read, so that a grant does not wait behind
        // more parts of a file than that. It grows if a link carries more in a round trip.
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE)
        .connect_with_connector(connector)
        .await
        .map_err(|error| error.to_string())
}

fn retry(why: String) -> Disconnection {
    Disconnection {
        why,
        finality: Finality::Retry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The result of tries of which only the one with this number is answered.
    fn answered(number: u32) -> Option<io::Result<u32>> {
        let begun = Arc::new(AtomicU32::new(0));
        let one_try = || {
            let nth = begun.fetch_add(1, Ordering::Relaxed);
            async move {
                match nth == number {
                    true => Ok(nth),
                    false => std::future::pending().await,
                }
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async { timeout(STEP_MAX, first_of(one_try)).await.ok() })
    }

    #[test]
    fn address_that_answered_is_tried_first() {
        let of = |host: u8| SocketAddr::from(([192, 0, 2, host], 7000));
        let ordered = |first| put_first(first, [1, 2, 3].map(of).to_vec());
        assert_eq!(ordered(Some(of(3))), [3, 1, 2].map(of));
        assert_eq!(ordered(Some(of(4))), [1, 2, 3].map(of));
        assert_eq!(ordered(None), [1, 2, 3].map(of));
    }

    #[test]
    fn connection_that_nobody_answers_is_opened_again_beside_the_first() {
        assert!(matches!(answered(0), Some(Ok(0))));
        assert!(matches!(answered(2), Some(Ok(2))));
    }
}
