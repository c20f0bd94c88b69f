//! What a field of a log means. nginx's variables, Apache's directives and the keys of JSON logs
//! are names for these.

use crate::stamp::TimeUnit;

/// Whether a time is that of the request's arrival or that of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Arrival,
    End,
}

/// What a field of a log means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// Nothing for a replay; may have spaces.
    Ignored,
    /// Nothing for a replay; never has spaces.
    IgnoredWord,
    /// A number since 1970.
    Clock(Moment, TimeUnit),
    /// A time as text.
    Time(Moment),
    /// The part of a second to add to a time.
    Fraction(TimeUnit),
    /// How long the request took.
    Duration(TimeUnit),
    /// Method, target and version.
    RequestLine,
    Method,
    /// Path with query, or a URL.
    Target,
    /// Path without query, perhaps rewritten.
    Path,
    /// Query without its question mark.
    Arguments,
    /// Query with its question mark; empty without one.
    Query,
    /// The host that the server chose, without its port.
    Host,
    Header(String),
    Body,
    Status,
    /// Number of the connection.
    Connection,
    ClientAddress,
    ClientPort,
    /// Number of the request on its connection; the first one is given.
    ConnectionRequests(u64),
    SessionReused,
    ServerName,
    TlsVersion,
}

/// Variables of nginx that have no spaces and do not matter here.
const WORDS: [&str; 23] = [
    "binary_remote_addr",
    "body_bytes_sent",
    "bytes_sent",
    "connection_time",
    "content_length_sent",
    "gzip_ratio",
    "hostname",
    "ident",
    "pid",
    "pipe",
    "proxy_protocol_addr",
    "realip_remote_addr",
    "request_completion",
    "request_id",
    "request_length",
    "scheme",
    "server_addr",
    "server_port",
    "server_protocol",
    "ssl_cipher",
    "ssl_curve",
    "ssl_early_data",
    "ssl_session_id",
];

impl Variable {
    /// The meaning of nginx's variable `name`, without its `$`. Maps and modules can define any
    /// name, so that an unknown one is ignored.
    pub(crate) fn from_nginx(name: &str) -> Variable {
        match name {
            "msec" => Variable::Clock(Moment::End, TimeUnit::Seconds),
            "time_iso8601" | "time_local" => Variable::Time(Moment::End),
            "request_time" => Variable::Duration(TimeUnit::Seconds),
            "request" => Variable::RequestLine,
            "request_method" => Variable::Method,
            "request_uri" => Variable::Target,
            "uri" | "document_uri" => Variable::Path,
            "args" | "query_string" => Variable::Arguments,
            "host" => Variable::Host,
            "request_body" => Variable::Body,
            "content_length" => Variable::Header("content-length".to_owned()),
            "content_type" => Variable::Header("content-type".to_owned()),
            "status" => Variable::Status,
            "connection" => Variable::Connection,
            "remote_addr" => Variable::ClientAddress,
            "remote_port" => Variable::ClientPort,
            "connection_requests" => Variable::ConnectionRequests(1),
            "ssl_session_reused" => Variable::SessionReused,
            "ssl_server_name" => Variable::ServerName,
            "ssl_protocol" => Variable::TlsVersion,
            _ if WORDS.contains(&name) => Variable::IgnoredWord,
            _ => name
                .strip_prefix("http_")
                .map_or(Variable::Ignored, |field| {
                    Variable::Header(field.replace('_', "-"))
                }),
        }
    }

    /// The meaning of a key in a JSON log: a variable of nginx, or a usual name for one.
    pub(crate) fn from_json_key(key: &str) -> Variable {
        match key {
            "time" | "timestamp" | "@timestamp" | "ts" | "date" | "datetime" | "timeLocal"
            | "time_utc" | "time_msec" => Variable::Time(Moment::End),
            "method" | "verb" | "http_method" | "requestMethod" => Variable::Method,
            "path" | "request_path" => Variable::Path,
            "url" | "requestUri" | "request_url" => Variable::Target,
            "query" => Variable::Arguments,
            "vhost" | "domain" => Variable::Host,
            "status_code" | "code" | "response_status" | "http_status" => Variable::Status,
            "user_agent" | "agent" | "userAgent" | "useragent" | "http_agent" => {
                Variable::Header("user-agent".to_owned())
            }
            "referer" | "referrer" | "http_referrer" => Variable::Header("referer".to_owned()),
            "cookie" => Variable::Header("cookie".to_owned()),
            "body" => Variable::Body,
            "server_name_indication" | "sni" => Variable::ServerName,
            "tls_version" | "tls_protocol" => Variable::TlsVersion,
            _ => Variable::from_nginx(key),
        }
    }

    /// Whether a value may be one of this variable; lets a reader of fields without quotation marks
    /// find out early that it is on the wrong track.
    pub(crate) fn accepts(&self, value: &[u8]) -> bool {
        match self {
            Variable::Clock(..)
            | Variable::Fraction(_)
            | Variable::Duration(_)
            | Variable::Status
            | Variable::ConnectionRequests(_) => {
                let is_of_number = |byte: &u8| byte.is_ascii_digit() || b".-".contains(byte);
                value.iter().all(is_of_number)
            }
            Variable::IgnoredWord
            | Variable::Method
            | Variable::Connection
            | Variable::ClientAddress
            | Variable::ClientPort
            | Variable::SessionReused
            | Variable::ServerName
            | Variable::Host
            | Variable::TlsVersion => !value.contains(&b' '),
            // A path, a URL, the authority of CONNECT, or nothing.
            Variable::Target | Variable::Path => {
                value.first().is_none_or(|first| b"/-*".contains(first)) || value.contains(&b':')
            }
            _ => true,
        }
    }
}
