//! A plan as text with every default written out: one text for one plan, whatever it was written
//! like.

use crate::{
    Body, Builtin, BuiltinKey, BuiltinPace, ClientCertificates, Close, Connection, Dns, End, File,
    HttpVersion, KeyExchange, KeyShare, Limit, Load, Plan, Request, RequestsPerConnection,
    Resumption, ResumptionKind, Sha256, Shape, StatusSet, Target, Threshold, Tls, Verify, duration,
};
use std::fmt::{Display, Write as _};

/// The canonical text of `plan`. Every change here changes every digest.
pub(crate) fn text(plan: &Plan) -> String {
    let mut out = Text(String::new());
    out.field("name", quoted(&plan.name));
    target(&mut out, &plan.target);
    for each in &plan.requests {
        request(&mut out, each, plan.connection.requests);
    }
    connection(&mut out, &plan.connection);
    if let Some(each) = &plan.tls {
        tls(&mut out, each);
    }
    load(&mut out, &plan.load);
    thresholds(&mut out, &plan.thresholds);
    out.0
}

/// TOML as it grows.
struct Text(String);

impl Text {
    fn table(&mut self, header: &str) {
        self.line(format_args!("\n{header}"));
    }

    fn field(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }
}

fn target(out: &mut Text, target: &Target) {
    out.table("[target]");
    if let Some(it) = &target.builtin {
        return out.field("builtin", builtin(it, target));
    }
    out.field("url", quoted(&target.url.to_string()));
    out.field(
        "addresses",
        list(&target.addresses, |address| quoted(&address.to_string())),
    );
    let dns = match target.dns {
        Dns::Once => "once".to_owned(),
        Dns::EveryConnection => "connection".to_owned(),
        Dns::Every(interval) => duration::write(interval),
    };
    out.field("dns", quoted(&dns));
}

fn builtin(builtin: &Builtin, target: &Target) -> String {
    let key = match builtin.key {
        BuiltinKey::P256 => "p256",
        BuiltinKey::Rsa2048 => "rsa2048",
    };
    let at = if target.url.port == 0 {
        String::new()
    } else {
        format!(", at = {}", quoted(&target.url.to_string()))
    };
    let (tls, body_bytes, delay, pace) = (
        builtin.tls,
        builtin.body_bytes,
        time(builtin.delay),
        pace(builtin.pace),
    );
    format!(
        "{{ tls = {tls}, key = \"{key}\", body_bytes = {body_bytes}, delay = {delay}{pace}{at} }}"
    )
}

fn pace(pace: BuiltinPace) -> String {
    match pace {
        BuiltinPace::AtOnce => String::new(),
        BuiltinPace::Stall {
            every,
            lasts,
            first,
        } => {
            format!(
                ", stall = {{ every = {}, for = {}, first = {} }}",
                time(every),
                time(lasts),
                time(first)
            )
        }
        BuiltinPace::Servers {
            count,
            service_time,
        } => {
            format!(
                ", servers = {{ count = {count}, service_time = {} }}",
                time(service_time)
            )
        }
    }
}

fn request(out: &mut Text, request: &Request, per_connection: RequestsPerConnection) {
    out.table("[[request]]");
    out.field("name", quoted(&request.name));
    if per_connection == RequestsPerConnection::HandshakeOnly {
        return;
    }
    out.field("weight", request.weight);
    out.field("method", quoted(&request.method));
    if let Some(path) = &request.path {
        out.field("path", quoted(&path.to_string()));
    }
    out.field("headers", headers(request));
    match &request.body {
        Some(Body::Text(text)) => out.field("body", quoted(&text.to_string())),
        Some(Body::File(body)) => out.field("body_file", file(body)),
        None => {}
    }
    let bytes = request
        .expect
        .bytes
        .map_or_else(String::new, |bytes| format!(", bytes = {bytes}"));
    out.field(
        "expect",
        format_args!("{{ status = {}{bytes} }}", statuses(&request.expect.status)),
    );
}

/// Fields of one name stand together, as they do in the text they came from.
fn headers(request: &Request) -> String {
    let mut fields: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value) in &request.headers {
        let value = quoted(&value.reveal().to_string());
        match fields.last_mut() {
            Some((last, values)) if last == name => values.push(value),
            _ => fields.push((name, vec![value])),
        }
    }
    let field = |(name, values): &(&str, Vec<String>)| match values.as_slice() {
        [value] => format!("{} = {value}", quoted(name)),
        values => format!("{} = [{}]", quoted(name), values.join(", ")),
    };
    if fields.is_empty() {
        "{}".to_owned()
    } else {
        format!(
            "{{ {} }}",
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        )
    }
}

fn statuses(set: &StatusSet) -> String {
    list(&set.ranges, |(low, high)| {
        if low == high {
            low.to_string()
        } else {
            format!("\"{low}-{high}\"")
        }
    })
}

fn connection(out: &mut Text, connection: &Connection) {
    out.table("[connection]");
    match connection.requests {
        RequestsPerConnection::HandshakeOnly => out.field("requests", 0),
        RequestsPerConnection::Limited(requests) => out.field("requests", requests),
        RequestsPerConnection::Unlimited => out.field("requests", "\"unlimited\""),
    }
    let close = match connection.close {
        Close::Fin => "fin",
        Close::Server => "server",
        Close::Rst => "rst",
    };
    out.field("close", quoted(close));
    out.field("confirm", connection.confirm);
    match connection.http {
        HttpVersion::Http11 => out.field("http", "\"1.1\""),
        HttpVersion::Http2 { streams } => {
            out.field("http", "\"2\"");
            out.field("streams", streams);
        }
    }
    out.field(
        "source_addresses",
        list(&connection.source_addresses, |ip| quoted(&ip.to_string())),
    );
    let timeouts = connection.timeouts;
    let (connect, handshake, request) = (
        time(timeouts.connect),
        time(timeouts.handshake),
        time(timeouts.request),
    );
    out.field(
        "timeouts",
        format_args!("{{ connect = {connect}, handshake = {handshake}, request = {request} }}"),
    );
}

fn tls(out: &mut Text, tls: &Tls) {
    out.table("[tls]");
    out.field(
        "versions",
        list(&tls.versions, |version| quoted(&version.to_string())),
    );
    out.field(
        "cipher_suites",
        list(&tls.cipher_suites, |suite| quoted(suite.name)),
    );
    out.field("groups", list(&tls.groups, |group| quoted(group.name)));
    out.field(
        "key_share",
        match tls.key_share {
            KeyShare::First => "\"first\"",
            KeyShare::Remembered => "\"remembered\"",
        },
    );
    out.field("resumption", resumption(tls.resumption));
    out.field("early_data", tls.early_data);
    out.field(
        "verify",
        match tls.verify {
            Verify::Full => "\"full\"",
            Verify::Once => "\"once\"",
            Verify::None => "\"none\"",
        },
    );
    out.field(
        "key_exchange",
        match tls.key_exchange {
            KeyExchange::Fresh => "\"fresh\"",
            KeyExchange::Cheap => "\"cheap\"",
        },
    );
    if let Some(ca) = &tls.ca {
        out.field("ca", file(ca));
    }
    out.field(
        "client_certificates",
        client_certificates(&tls.client_certificates),
    );
    if let Some(name) = &tls.server_name {
        out.field("server_name", quoted(name));
    }
    out.field("alpn", list(&tls.alpn, |protocol| quoted(protocol)));
    out.field("key_log", tls.key_log);
}

fn client_certificates(identities: &ClientCertificates) -> String {
    match identities {
        ClientCertificates::Files(pairs) => list(pairs, |pair| {
            let [cert, key] = [&pair.cert, &pair.key].map(|file| named(&file.name, file.sha256));
            format!("{{ cert = {cert}, key = {key} }}")
        }),
        ClientCertificates::Mint(minting) => {
            let [ca, ca_key] =
                [&minting.ca, &minting.ca_key].map(|file| named(&file.name, file.sha256));
            let (subject, validity) =
                (quoted(&minting.subject.to_string()), time(minting.validity));
            let number = minting.number;
            format!(
                "{{ mint = {number}, ca = {ca}, ca_key = {ca_key}, subject = {subject}, validity \
                 = {validity} }}"
            )
        }
    }
}

fn resumption(resumption: Resumption) -> String {
    let Resumption::Share { share, kind } = resumption else {
        return "\"never\"".to_owned();
    };
    let kind = match kind {
        ResumptionKind::Any => "any",
        ResumptionKind::SessionId => "session-id",
    };
    format!("{{ share = {share:?}, kind = \"{kind}\" }}")
}

fn load(out: &mut Text, load: &Load) {
    out.table("[load]");
    match &load.shape {
        Shape::Closed {
            connections,
            think_time,
        } => {
            out.field("connections", connections);
            if let Some(pause) = think_time {
                out.field(
                    "think_time",
                    format_args!("{{ min = {}, max = {} }}", time(pause.min), time(pause.max)),
                );
            }
            out.field("connect_ramp", time(load.connect_ramp));
        }
        Shape::Open {
            rate,
            arrivals,
            max_connections,
        } => {
            out.field("rate", quoted(&rate.to_string()));
            out.field(
                "arrivals",
                quoted(if *arrivals == crate::Arrivals::Even {
                    "even"
                } else {
                    "poisson"
                }),
            );
            out.field("max_connections", max_connections);
        }
    }
    match load.end {
        End::Duration(duration) => out.field("duration", time(duration)),
        End::Requests(requests) => out.field("requests", requests),
    }
    out.field("warm_up", time(load.warm_up));
    out.field("seed", load.seed);
    for stage in &load.stages {
        out.table("[[load.stage]]");
        out.field("over", time(stage.over));
        match load.shape {
            Shape::Closed { .. } => out.field("to", stage.to),
            Shape::Open { .. } => out.field("to", format_args!("\"{}/s\"", stage.to)),
        }
    }
}

fn thresholds(out: &mut Text, thresholds: &[Threshold]) {
    out.table("[thresholds]");
    for Threshold {
        metric,
        comparison,
        limit,
    } in thresholds
    {
        let limit = match limit {
            Limit::Time(limit) => duration::write(*limit),
            Limit::Number(limit) => limit.to_string(),
        };
        out.field(
            &quoted(&metric.to_string()),
            quoted(&format!("{comparison} {limit}")),
        );
    }
}

fn file(file: &File) -> String {
    named(&file.name, file.sha256)
}

fn named(name: &str, sha256: Sha256) -> String {
    format!("{{ file = {}, sha256 = \"{sha256}\" }}", quoted(name))
}

fn time(time: std::time::Duration) -> String {
    quoted(&duration::write(time))
}

fn list<T>(items: &[T], write: impl FnMut(&T) -> String) -> String {
    format!(
        "[{}]",
        items.iter().map(write).collect::<Vec<_>>().join(", ")
    )
}

/// A basic string (TOML 1.0).
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control.is_ascii_control() => {
                write!(quoted, "\\u{:04X}", u32::from(control)).expect("a string takes everything");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
