//! The URL at which an OpenTelemetry collector takes metrics.

use hyper::Uri;
use std::fmt;
use std::str::FromStr;

/// The path for metrics below a collector's base URL (OTLP/HTTP).
const METRICS_PATH: &str = "/v1/metrics";

/// The URL that metrics are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpEndpoint {
    /// Whether it is HTTPS.
    pub(super) is_secure: bool,
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as the URL has them.
    pub(super) authority: String,
    pub(super) path: String,
}

/// Why a text is not a URL that metrics can be sent to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write such as http://127.0.0.1:4318")]
pub struct NoOtlpEndpoint(&'static str);

/// Completes a base URL as OpenTelemetry's SDKs complete `OTEL_EXPORTER_OTLP_ENDPOINT`. A URL that
/// ends with the path for metrics is taken as it is.
impl FromStr for OtlpEndpoint {
    type Err = NoOtlpEndpoint;

    fn from_str(text: &str) -> Result<OtlpEndpoint, NoOtlpEndpoint> {
        let uri: Uri = text.parse().map_err(|_| NoOtlpEndpoint("not a URL"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(NoOtlpEndpoint("neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or(NoOtlpEndpoint("no host"))?;
        if authority.as_str().contains('@') {
            return Err(NoOtlpEndpoint(
                "a password in a URL shows in lists of processes; set \
                 OTEL_EXPORTER_OTLP_HEADERS=\"authorization=Basic …\" instead",
            ));
        }
        if uri.query().is_some() {
            return Err(NoOtlpEndpoint("a query has no place in it"));
        }
        let host = authority.host().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(NoOtlpEndpoint("no host"));
        }
        let after_host = authority.as_str().strip_prefix(authority.host());
        let has_port = after_host.is_some_and(|rest| rest.len() > 1);
        if has_port && authority.port_u16().is_none() {
            return Err(NoOtlpEndpoint("a port is a number up to 65535"));
        }
        let base = uri.path().trim_end_matches('/');
        let base = base.strip_suffix(METRICS_PATH).unwrap_or(base);
        Ok(OtlpEndpoint {
            is_secure,
            host: host.to_owned(),
            port: authority
                .port_u16()
                .unwrap_or(if is_secure { 443 } else { 80 }),
            authority: authority.to_string(),
            path: format!("{base}{METRICS_PATH}"),
        })
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_completed_and_whole_ones_kept() {
        for (text, sent_to, host, port) in [
            (
                "http://127.0.0.1:4318",
                "http://127.0.0.1:4318/v1/metrics",
                "127.0.0.1",
                4318,
            ),
            (
                "http://[::1]:4318/",
                "http://[::1]:4318/v1/metrics",
                "::1",
                4318,
            ),
            (
                "https://otel.test/otlp/",
                "https://otel.test/otlp/v1/metrics",
                "otel.test",
                443,
            ),
            (
                "http://p:9090/api/v1/otlp",
                "http://p:9090/api/v1/otlp/v1/metrics",
                "p",
                9090,
            ),
            ("http://c/x/v1/metrics", "http://c/x/v1/metrics", "c", 80),
        ] {
            let endpoint: OtlpEndpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), sent_to);
            assert_eq!(
                (endpoint.host.as_str(), endpoint.port),
                (host, port),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused_with_the_cure() {
        for (text, why) in [
            ("127.0.0.1:4318", "neither http:// nor https://"),
            ("grpc://127.0.0.1:4317", "neither http:// nor https://"),
            ("", "not a URL"),
            ("/v1/metrics", "neither http:// nor https://"),
            ("http://u:p@h:4318", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("http://h:4318/?key=1", "query"),
            ("http://h:70000", "a port is a number"),
            ("http://[::1]:70000", "a port is a number"),
        ] {
            let error = text.parse::<OtlpEndpoint>().unwrap_err().to_string();
            assert!(
                error.contains(why) && error.contains("write such as"),
                "{text}: {error}"
            );
        }
    }
}
