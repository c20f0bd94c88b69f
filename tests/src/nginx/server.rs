//! The servers of one nginx, each with its own kind of TLS.

use crate::{CertificateFiles, Pki};
use std::path::Path;
use target::KeyKind;

/// A server. Its suites are limited to AES-256-GCM, because clients prefer different ones; the
/// groups are those of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NginxServer {
    /// Plain HTTP.
    Plain,
    /// TLS 1.2, RSA-2048, never resumes.
    Tls12Rsa,
    /// TLS 1.2, RSA-2048, tickets, no cache.
    Tls12Tickets,
    /// TLS 1.2, RSA-2048, session ids, no tickets.
    Tls12Cache,
    /// TLS 1.3, P-256, never resumes.
    Tls13,
    /// TLS 1.3, P-256, tickets, no cache.
    Tls13Tickets,
    /// TLS 1.3, P-256, tickets that name a session in a cache.
    Tls13Cache,
    /// TLS 1.2 and 1.3, P-256 and RSA-2048, every suite of its OpenSSL, never resumes.
    AnyTls,
    /// TLS 1.2 and 1.3, P-256, tickets, HTTP/2 if the client offers it by ALPN.
    AnyTlsTickets,
    /// TLS 1.2 and 1.3, P-256, client certificate required. Without one, nginx completes the
    /// handshake and then answers 400.
    ClientCertificate,
    /// As [`NginxServer::ClientCertificate`], with tickets.
    ClientCertificateTickets,
    /// TLS 1.3, P-256, tickets, early data.
    EarlyData,
    /// TLS 1.3, P-256, closes connections after a number of requests, which it announces.
    KeepAliveLimited,
    /// TLS 1.3, P-256, closes idle connections.
    KeepAliveIdle,
    /// TLS 1.3, P-256, HTTP/2 if the client offers it by ALPN.
    Http2,
    /// HTTP/2 by prior knowledge, without TLS.
    Http2Plain,
    /// [`NginxServer::Http2`] with `http2_streams` of the options, which closes connections after
    /// `keepalive_requests`.
    Http2Limited,
    /// No HTTP: logs each connection, TLS 1.2, RSA-2048, never resumes.
    StreamTls12Rsa,
    /// No HTTP: logs each connection, TLS 1.2, RSA-2048, tickets.
    StreamTls12Tickets,
    /// No HTTP: logs each connection, TLS 1.2, RSA-2048, session ids.
    StreamTls12Cache,
    /// No HTTP: logs each connection, TLS 1.3, P-256, never resumes.
    StreamTls13,
    /// No HTTP: logs each connection, TLS 1.3, P-256, tickets.
    StreamTls13Tickets,
}

/// How a server resumes sessions.
enum Resumes {
    Never,
    ByTicket,
    ByCache,
}

impl NginxServer {
    /// Every server.
    pub const ALL: [NginxServer; 22] = [
        NginxServer::Plain,
        NginxServer::Tls12Rsa,
        NginxServer::Tls12Tickets,
        NginxServer::Tls12Cache,
        NginxServer::Tls13,
        NginxServer::Tls13Tickets,
        NginxServer::Tls13Cache,
        NginxServer::AnyTls,
        NginxServer::AnyTlsTickets,
        NginxServer::ClientCertificate,
        NginxServer::ClientCertificateTickets,
        NginxServer::EarlyData,
        NginxServer::KeepAliveLimited,
        NginxServer::KeepAliveIdle,
        NginxServer::Http2,
        NginxServer::Http2Plain,
        NginxServer::Http2Limited,
        NginxServer::StreamTls12Rsa,
        NginxServer::StreamTls12Tickets,
        NginxServer::StreamTls12Cache,
        NginxServer::StreamTls13,
        NginxServer::StreamTls13Tickets,
    ];

    /// Whether it speaks TLS.
    #[must_use]
    pub fn is_tls(self) -> bool {
        !matches!(self, NginxServer::Plain | NginxServer::Http2Plain)
    }

    /// Whether it does not speak HTTP.
    #[must_use]
    pub fn is_stream(self) -> bool {
        use NginxServer as S;
        matches!(
            self,
            S::StreamTls12Rsa
                | S::StreamTls12Tickets
                | S::StreamTls12Cache
                | S::StreamTls13
                | S::StreamTls13Tickets
        )
    }

    /// Whether there are servers with names beside it, if the options have any.
    pub(super) fn has_names(self) -> bool {
        use NginxServer as S;
        self.is_tls()
            && !matches!(
                self,
                S::Tls12Rsa | S::Tls12Tickets | S::Tls12Cache | S::AnyTls
            )
    }

    /// nginx's directives for this server's TLS, with the certificate of its kind or with this one.
    pub(super) fn tls_directives(
        self,
        pki: &Pki,
        files: Option<&CertificateFiles>,
        ticket_key: Option<&Path>,
    ) -> String {
        use NginxServer as S;
        let (version, resumes) = match self {
            S::Plain | S::Http2Plain => return String::new(),
            S::Tls12Rsa | S::StreamTls12Rsa => (V12, Resumes::Never),
            S::Tls12Tickets | S::StreamTls12Tickets => (V12, Resumes::ByTicket),
            S::Tls12Cache | S::StreamTls12Cache => (V12, Resumes::ByCache),
            S::Tls13
            | S::StreamTls13
            | S::KeepAliveLimited
            | S::KeepAliveIdle
            | S::Http2
            | S::Http2Limited => (V13, Resumes::Never),
            S::Tls13Tickets | S::StreamTls13Tickets | S::EarlyData => (V13, Resumes::ByTicket),
            S::Tls13Cache => (V13, Resumes::ByCache),
            S::AnyTls => (ANY, Resumes::Never),
            S::ClientCertificate => (BOTH, Resumes::Never),
            S::AnyTlsTickets | S::ClientCertificateTickets => (BOTH, Resumes::ByTicket),
        };
        let kind = if version == V12 {
            KeyKind::Rsa2048
        } else {
            KeyKind::P256
        };
        let files = files.cloned().unwrap_or_else(|| pki.server(kind));
        let identity = match self {
            S::AnyTls => certificate(&files) + &certificate(&pki.server(KeyKind::Rsa2048)),
            _ => certificate(&files),
        };
        let resumption = resumption(&resumes, self.is_stream(), ticket_key);
        let client = match self {
            S::ClientCertificate | S::ClientCertificateTickets => client_certificate(pki),
            S::EarlyData => "ssl_early_data on;".to_owned(),
            _ => String::new(),
        };
        format!("{version} {identity} {resumption} {client}")
    }
}

const V12: &str = "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384;";
const V13: &str = "ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;";
const ANY: &str = "ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers HIGH:!aNULL;";
const BOTH: &str = "ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384; \
                    ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;";

fn resumption(resumes: &Resumes, is_stream: bool, ticket_key: Option<&Path>) -> String {
    match resumes {
        Resumes::Never => "ssl_session_cache off; ssl_session_tickets off;".to_owned(),
        Resumes::ByTicket => {
            let key = ticket_key.map(|path| format!("ssl_session_ticket_key {};", path.display()));
            format!(
                "ssl_session_cache none; ssl_session_tickets on; ssl_session_timeout 1h; {}",
                key.unwrap_or_default()
            )
        }
        Resumes::ByCache => {
            // HTTP and stream servers cannot share a zone.
            let zone = if is_stream { "stream" } else { "http" };
            format!(
                "ssl_session_cache shared:{zone}:4m; ssl_session_tickets off; ssl_session_timeout \
                 1h;"
            )
        }
    }
}

fn certificate(files: &CertificateFiles) -> String {
    format!(
        "ssl_certificate {}; ssl_certificate_key {};",
        files.cert.display(),
        files.key.display()
    )
}

fn client_certificate(pki: &Pki) -> String {
    format!(
        "ssl_client_certificate {}; ssl_verify_client on;",
        pki.ca().display()
    )
}
