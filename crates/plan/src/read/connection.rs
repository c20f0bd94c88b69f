//! Reads `[connection]`.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{
    Close, Connection, HttpVersion, ProxyProtocol, RequestsPerConnection, Timeouts, Words as _,
};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

const MAX_SOURCE_ADDRESSES: usize = 10_000;
/// Histograms end at an hour.
const HOUR: Duration = Duration::from_secs(3600);
/// Concurrent streams of a connection: more than any current server allows.
const MAX_STREAMS: u32 = 10_000;
const MS: Duration = Duration::from_millis(1);

/// Paths of `[connection]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "connection.requests",
    "connection.close",
    "connection.confirm",
    "connection.http",
    "connection.streams",
    "connection.source_addresses",
    "connection.proxy_protocol",
    "connection.proxy_source",
    "connection.timeouts",
    "connection.timeouts.connect",
    "connection.timeouts.handshake",
    "connection.timeouts.request",
];

pub(crate) fn read(section: PlanSection<'_>) -> Option<Connection> {
    let requests = section
        .read("requests", requests)
        .unwrap_or(RequestsPerConnection::Unlimited);
    let close = section
        .read("close", |field| field.choice())
        .unwrap_or(Close::Fin);
    let confirm = confirm(&section, requests, close);
    let http = http(&section);
    let source_addresses = section
        .read("source_addresses", source_addresses)
        .unwrap_or_default();
    let proxy_protocol = proxy_protocol(&section);
    let timeouts = section
        .section("timeouts")
        .map_or_else(Timeouts::default, timeouts);
    check_close(&section, requests, close);
    check_http2(&section, http, requests, close);
    section.finish();
    Some(Connection {
        requests,
        close,
        confirm,
        http,
        source_addresses,
        proxy_protocol,
        timeouts,
    })
}

fn requests(field: Field<'_>) -> Option<RequestsPerConnection> {
    if let NodeValue::Whole(_) = field.node.value {
        let number = field.whole32(0..=u32::MAX)?;
        return Some(NonZeroU32::new(number).map_or(
            RequestsPerConnection::HandshakeOnly,
            RequestsPerConnection::Limited,
        ));
    }
    let example =
        "\"unlimited\" (keep-alive), 1 (keep-alive off), another number, or 0 (handshake only)";
    if field.text(example)? == RequestsPerConnection::UNLIMITED_WORD {
        return Some(RequestsPerConnection::Unlimited);
    }
    field.refuse(format_args!("is not known here; write {example}"));
    None
}

/// Whether a handshake-only operation waits for the server to close; after a reset there is nothing
/// to wait for.
fn confirm(section: &PlanSection<'_>, requests: RequestsPerConnection, close: Close) -> bool {
    let given = section.read("confirm", |field| field.flag());
    let handshake_only = requests == RequestsPerConnection::HandshakeOnly;
    match given {
        Some(false) if !handshake_only => {
            section.problem_at(
                "confirm",
                "false has a meaning only for handshakes alone; remove it, or write requests = 0",
            );
        }
        Some(true) if handshake_only && close == Close::Rst => {
            section.problem_at(
                "confirm",
                "true cannot be had with close = \"rst\": a reset connection confirms nothing; \
                 remove one of them",
            );
        }
        _ => {}
    }
    given.unwrap_or(!(handshake_only && close == Close::Rst))
}

fn http(section: &PlanSection<'_>) -> HttpVersion {
    let version = section.read("http", version);
    let streams = section.read("streams", |field| field.whole32(1..=MAX_STREAMS));
    match version {
        Some(HttpVersion::Http2 { .. }) => HttpVersion::Http2 {
            streams: streams.unwrap_or(1),
        },
        Some(HttpVersion::Http11) | None => {
            if streams.is_some() {
                section.problem_at(
                    "streams",
                    "belongs to HTTP/2; write http = \"2\" beside it, or remove it",
                );
            }
            HttpVersion::Http11
        }
    }
}

fn version(field: Field<'_>) -> Option<HttpVersion> {
    let example = "\"1.1\" or \"2\"";
    let text = field.text(example)?;
    let word = match text {
        "2.0" | "h2" => "2",
        other => other,
    };
    let version = HttpVersion::from_word(word);
    match text {
        _ if version.is_some() => {}
        "3" | "3.0" | "h3" => {
            field.refuse("asks for HTTP/3, which is not in this release; write \"1.1\" or \"2\"")
        }
        _ => field.refuse(format_args!("is not known here; write {example}")),
    }
    version
}

/// Reports settings that HTTP/2 has no form for.
fn check_http2(
    section: &PlanSection<'_>,
    http: HttpVersion,
    requests: RequestsPerConnection,
    close: Close,
) {
    let HttpVersion::Http2 { streams } = http else {
        return;
    };
    if close == Close::Server && requests != RequestsPerConnection::HandshakeOnly {
        section.problem_at(
            "close",
            "\"server\" asks the server to close in a header field that HTTP/2 does not have; \
             write \"fin\" or \"rst\"",
        );
    }
    if requests == RequestsPerConnection::HandshakeOnly && streams > 1 {
        section.problem_at(
            "streams",
            "has no meaning with requests = 0, which sends no request; remove it",
        );
    }
}

fn source_addresses(field: Field<'_>) -> Option<Vec<IpAddr>> {
    let addresses = field.list_of("one such as [\"10.0.1.1\", \"10.0.1.2\"]", source_address)?;
    if addresses.len() > MAX_SOURCE_ADDRESSES {
        field.problem(format_args!(
            "has {} addresses; write at most {MAX_SOURCE_ADDRESSES}",
            addresses.len()
        ));
        return None;
    }
    Some(addresses)
}

fn source_address(field: &Field<'_>) -> Option<IpAddr> {
    let text = field.text("an address such as \"10.0.1.1\"")?;
    match text.parse::<IpAddr>() {
        Ok(ip) if !ip.is_unspecified() => return Some(ip),
        Ok(_) => field.refuse(
            "is no address of a machine; leave source_addresses out to let the kernel choose",
        ),
        Err(_) => field.refuse(
            "is not an IP address; write one such as \"10.0.1.1\" (ports are the kernel's)",
        ),
    }
    None
}

impl Default for Timeouts {
    /// 5 s to connect, 5 s for the handshake, 30 s for the request.
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(5),
            handshake: Duration::from_secs(5),
            request: Duration::from_secs(30),
        }
    }
}

fn proxy_protocol(section: &PlanSection<'_>) -> Option<ProxyProtocol> {
    let version = section.read("proxy_protocol", |field| field.choice());
    let source = section.read("proxy_source", |field| {
        field.parse("a network such as \"10.0.0.0/8\"")
    });
    if section.has("proxy_source") && !section.has("proxy_protocol") {
        section.problem_at(
            "proxy_source",
            "is told by the PROXY protocol alone; write proxy_protocol = \"v2\" beside it",
        );
    }
    version.map(|version| ProxyProtocol { version, source })
}

fn timeouts(section: PlanSection<'_>) -> Timeouts {
    let default = Timeouts::default();
    let timeout = |key, default| {
        section
            .read(key, |field| field.duration(MS..=HOUR))
            .unwrap_or(default)
    };
    let timeouts = Timeouts {
        connect: timeout("connect", default.connect),
        handshake: timeout("handshake", default.handshake),
        request: timeout("request", default.request),
    };
    section.finish();
    timeouts
}

fn check_close(section: &PlanSection<'_>, requests: RequestsPerConnection, close: Close) {
    if close != Close::Server {
        return;
    }
    match requests {
        RequestsPerConnection::HandshakeOnly => section.problem_at(
            "close",
            "\"server\" asks the server to close in a request, and with requests = 0 there is \
             none; write \"fin\" or \"rst\"",
        ),
        RequestsPerConnection::Unlimited => section.context.note(
            "connection.close = \"server\" has no effect: with requests = \"unlimited\" no \
             request is the last of its connection"
                .to_owned(),
        ),
        RequestsPerConnection::Limited(_) => {}
    }
}
