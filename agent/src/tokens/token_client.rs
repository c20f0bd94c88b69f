//! Asks a server for a token: an HTTP client that sends one request and takes a small answer.

use super::token_answer::{TokenAnswer, show};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::Policy;
use http_body_util::{BodyExt as _, Limited};
use hyper::client::conn::http1::handshake;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, LOCATION};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use plan::{Host, Plan, Scheme, SecretTexts, TokenRequest, Url};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use secret::Secret;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Time for all that a token takes, from the lookup to the end of the answer.
const FETCH_MAX: Duration = Duration::from_secs(10);

/// Longest answer that is read, in bytes: tokens have a few thousand at most.
const ANSWER_MAX_BYTES: usize = 256 << 10;

/// Asks for the token of one credential, as often as needed.
pub(super) struct TokenClient {
    url: Url,
    body: Secret<String>,
    basic: Option<Secret<String>>,
    /// No message has one of these, even if the server's does.
    secrets: SecretTexts,
    /// Where it may connect to; `None` for anywhere.
    policy: Option<Policy>,
    /// `None` for plain HTTP.
    tls: Option<TlsConnector>,
}

impl TokenClient {
    /// Fails if the server could not be verified.
    pub(super) fn new(
        plan: &Plan,
        request: &TokenRequest,
        policy: Option<&Policy>,
    ) -> Result<TokenClient, String> {
        let url = request.token_url.clone();
        let tls = match url.scheme {
            Scheme::Http => None,
            Scheme::Https => Some(TlsConnector::from(Arc::new(client_config(plan)?))),
        };
        let mut secrets = SecretTexts::from_variables(plan);
        secrets.add(None, request.secret_text().reveal());
        Ok(TokenClient {
            body: request.body(),
            basic: request.basic(),
            secrets,
            policy: policy.cloned(),
            tls,
            url,
        })
    }

    /// Asks once. The message says which server does not give a token, and why.
    pub(super) async fn fetch(&self) -> Result<TokenAnswer, String> {
        let fetched = timeout(FETCH_MAX, self.try_fetch()).await;
        let within = FETCH_MAX.as_secs();
        let fetched = fetched.unwrap_or_else(|_| Err(format!("gave no token within {within} s")));
        fetched.map_err(|why| {
            // A server may repeat what it was asked with, and what it says is cut.
            self.secrets.mask(&format!("{} {why}", self.url), true)
        })
    }

    async fn try_fetch(&self) -> Result<TokenAnswer, String> {
        let tcp = self.connect().await?;
        let Some(tls) = &self.tls else {
            return self.exchange(tcp).await;
        };
        let name = match &self.url.host {
            Host::Name(name) => ServerName::try_from(name.clone()),
            Host::Ip(ip) => Ok(ServerName::from(*ip)),
        };
        let name = name.map_err(|error| format!("cannot be verified: {error}"))?;
        let stream = tls.connect(name, tcp).await.map_err(|error| {
            format!(
                "cannot be verified or does not speak TLS ({error}); its certificate must come \
                 from an authority of this machine, or of tls.ca"
            )
        })?;
        self.exchange(stream).await
    }

    /// Connects to the first address that answers. All must be allowed.
    async fn connect(&self) -> Result<TcpStream, String> {
        let (host, port) = (self.host(), self.url.port);
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let found = found.map_err(|error| format!("does not resolve ({error}); check it"))?;
        let addresses: Vec<SocketAddr> = found.collect();
        let is_forbidden = |address: &&SocketAddr| {
            let policy = self.policy.as_ref();
            policy.is_some_and(|policy| !policy.allows(&host, address.ip(), address.port()))
        };
        if let Some(refused) = addresses.iter().find(is_forbidden) {
            let ip = refused.ip();
            return Err(format!(
                "is at {ip}, which is not among the addresses this agent may connect to; start it \
                 with --allow {ip}"
            ));
        }
        let mut why = "has no address".to_owned();
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => why = format!("cannot be reached at {address}: {error}"),
            }
        }
        Err(why)
    }

    fn host(&self) -> String {
        match &self.url.host {
            Host::Name(name) => name.clone(),
            Host::Ip(ip) => ip.to_string(),
        }
    }

    /// Sends the request, and reads the answer.
    async fn exchange<S>(&self, stream: S) -> Result<TokenAnswer, String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let broke = |error: hyper::Error| format!("broke off: {error}");
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broke)?;
        let request = self.request()?;
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(broke)?;
            read(answer).await
        };
        // The connection's own end says less than what the request was told.
        let drive = async {
            let _ = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            answer = exchange => answer,
            never = drive => never,
        }
    }

    fn request(&self) -> Result<Request<String>, String> {
        let mut request = Request::post(self.url.path.as_str())
            .header(HOST, self.url.authority())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(basic) = &self.basic {
            let value = Secret::new(format!("Basic {}", STANDARD.encode(basic.reveal())));
            let value = HeaderValue::from_str(value.reveal());
            let mut value = value.map_err(|error| format!("cannot be asked: {error}"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let body = self.body.reveal().clone();
        request
            .body(body)
            .map_err(|error| format!("cannot be asked: {error}"))
    }
}

async fn read(answer: Response<Incoming>) -> Result<TokenAnswer, String> {
    let status = answer.status();
    if status.is_redirection() {
        let to = answer.headers().get(LOCATION).map(HeaderValue::as_bytes);
        let to = to.map_or("elsewhere".into(), String::from_utf8_lossy);
        return Err(format!(
            "answered {}, which leads to {}; the secret goes to no other address than that in the \
             plan",
            status.as_u16(),
            show(&to)
        ));
    }
    let body = Limited::new(answer.into_body(), ANSWER_MAX_BYTES).collect();
    let body = body.await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            format!("sent more than {ANSWER_MAX_BYTES} bytes, which is no token")
        } else {
            format!("broke off: {error}")
        }
    })?;
    TokenAnswer::read(status.as_u16(), &body.to_bytes())
}

/// TLS with verification, whatever the plan says of its target: the client's secret goes there.
fn client_config(plan: &Plan) -> Result<ClientConfig, String> {
    let roots = engine::roots_beside_target(plan).map_err(|error| error.to_string())?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
