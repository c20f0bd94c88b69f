//! Describes a plan in words, section by section.

use analysis::human;
use plan::{
    Arrivals, Body, Builtin, BuiltinKey, BuiltinPace, CipherSuite, ClientCertificate,
    ClientCertificates, Close, Connection, Dns, End, Expect, JourneyLoad, KeyExchange, KeyLog,
    KeyShare, Load, MessagePart, Plan, Rate, RedirectOrigin, Replay, ReplayConnections,
    ReplayStatus, Request, RequestsPerConnection, Resumption, ResumptionKind, ServerNames, Shape,
    SocketEnd, Stage, Target, Tls, Verify, Words as _, WorkUnit, duration_text,
};
use std::fmt::Display;

/// Most suites, groups or certificates that are listed; if there are more, the first ones and the
/// number of the rest.
const LISTED_MAX: usize = 9;

/// The sections in the plan's order, each with its lines.
pub(super) fn paragraphs(plan: &Plan) -> Vec<(&'static str, Vec<String>)> {
    let mut paragraphs = vec![
        ("target", target(plan.target())),
        ("requests", requests(plan)),
        ("connection", connection(plan.connection())),
    ];
    paragraphs.extend(plan.tls().map(|it| ("tls", tls(it, roots(plan, it)))));
    paragraphs.push(match plan.replay() {
        Some(replay) => ("replay", replayed_load(replay, plan.load())),
        None => ("load", load(plan.load(), plan.unit())),
    });
    if !plan.journeys().is_empty() {
        paragraphs.push(("journeys", journeys(plan)));
    }
    paragraphs.push(("thresholds", thresholds(plan)));
    paragraphs
}

fn target(target: &Target) -> Vec<String> {
    if let Some(it) = &target.builtin {
        return std::iter::once(builtin(it)).chain(pace(it.pace)).collect();
    }
    let mut lines = vec![target.url.to_string()];
    if !target.addresses.is_empty() {
        lines.push(format!(
            "connecting to {}, in turn",
            list(&target.addresses)
        ));
    } else if let plan::Host::Name(name) = &target.url.host {
        lines.push(match target.dns {
            Dns::Once => {
                format!("{name} is resolved once, by each agent; its addresses are used in turn")
            }
            Dns::EveryConnection => format!("{name} is resolved for every connection"),
            Dns::Every(interval) => {
                format!("{name} is resolved again every {}", duration_text(interval))
            }
        });
    }
    lines.extend(target.redirects_to.iter().map(redirect_origin));
    lines
}

fn redirect_origin(origin: &RedirectOrigin) -> String {
    let at = match &*origin.addresses {
        [] => String::new(),
        some => format!(", connecting to {}, in turn", list(some)),
    };
    format!("redirects may lead to {}{at}", origin.url.origin())
}

fn builtin(builtin: &Builtin) -> String {
    let scheme = match (builtin.tls, builtin.key) {
        (false, _) => "HTTP",
        (true, BuiltinKey::P256) => "HTTPS, P-256 key",
        (true, BuiltinKey::Rsa2048) => "HTTPS, RSA-2048 key",
    };
    let delay = if builtin.delay.is_zero() {
        String::new()
    } else {
        format!(" after {}", duration_text(builtin.delay))
    };
    format!(
        "the built-in target ({scheme}, {} bytes{delay}), started with the run",
        builtin.body_bytes
    )
}

fn pace(pace: BuiltinPace) -> Option<String> {
    match pace {
        BuiltinPace::AtOnce => None,
        BuiltinPace::Stall {
            every,
            lasts,
            first,
        } => Some(format!(
            "answering nothing for {} in every {}, the first time {} after its first request",
            duration_text(lasts),
            duration_text(every),
            duration_text(first)
        )),
        BuiltinPace::Servers {
            count,
            service_time,
        } => {
            let servers = f64::from(count.get());
            let capacity = servers / service_time.as_secs_f64();
            let what = if servers == 1.0 {
                "1 server".to_owned()
            } else {
                format!("{servers} servers")
            };
            Some(format!(
                "{what} of {} for each request: {} requests/s and no more",
                duration_text(service_time),
                significant(capacity)
            ))
        }
    }
}

/// Without decimals that mean nothing.
fn significant(number: f64) -> String {
    if number >= 100.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    }
}

fn requests(plan: &Plan) -> Vec<String> {
    if plan.connection().requests == RequestsPerConnection::HandshakeOnly {
        return vec!["none: each operation is a connection with its handshake".to_owned()];
    }
    if let Some(replay) = plan.replay() {
        return replayed_requests(plan, replay);
    }
    let total: f64 = plan
        .requests()
        .iter()
        .map(|each| plan.weight_of(each))
        .sum();
    plan.requests()
        .iter()
        .map(|each| request(each, plan.target(), plan.weight_of(each) / total))
        .collect()
}

/// A share at the beginning of a line.
fn percent(share: f64) -> String {
    let percent = format!("{:.1}", share * 100.0);
    format!("{:>3} %  ", percent.trim_end_matches(".0"))
}

/// Each journey with its share, its steps and what becomes of its connection.
fn journeys(plan: &Plan) -> Vec<String> {
    let weights = plan.journeys().iter();
    let total: f64 = weights.map(|journey| f64::from(journey.weight)).sum();
    let line = |(place, journey): (usize, &plan::Journey)| {
        let name = format!("{:?}", journey.name);
        let named = match plan.load().journeys.get(place) {
            None => format!("{}{name}: ", percent(f64::from(journey.weight) / total)),
            Some(own) => format!("{name}: {}; ", own_load(own, &plan.load().shape)),
        };
        let steps = human::counted(journey.steps().len() as u64, "step");
        let requests = significant(journey.mean_steps());
        let connection = match journey.connection {
            plan::JourneyConnection::Kept => "on a connection that is kept",
            plan::JourneyConnection::New => "each on a new connection",
            plan::JourneyConnection::Shared => "each over any connection that is free",
        };
        format!("{named}{steps}, {requests} requests on average if none fails, {connection}")
    };
    plan.journeys().iter().enumerate().map(line).collect()
}

/// The load of one journey, if each has its own.
fn own_load(load: &JourneyLoad, shape: &Shape) -> String {
    let first = match shape {
        Shape::Closed { .. } => human::counted(load.amount as u64, "virtual user"),
        Shape::Open { .. } => format!("{}/s", load.amount),
    };
    match stages(load.amount, &load.stages, shape) {
        None => first,
        Some(stages) => format!("{first}, then {stages}"),
    }
}

/// The requests of a log, by their methods.
fn replayed_requests(plan: &Plan, replay: &Replay) -> Vec<String> {
    let one = |request: &Request| {
        let number = replay.arrivals.requests_of(&request.method);
        let name = if request.name == request.method {
            String::new()
        } else {
            format!(" as {:?}", request.name)
        };
        let headers = match request.headers.len() {
            0 => String::new(),
            own => format!(
                ", with {} of the plan",
                human::counted(own as u64, "header")
            ),
        };
        let statuses = request.expect.status.ranges.iter();
        let statuses: Vec<String> = statuses.map(|&range| statuses_text(range)).collect();
        let status = match replay.status {
            ReplayStatus::Recorded => "the log's".to_owned(),
            ReplayStatus::Expected => statuses.join(", "),
            ReplayStatus::Any => "any".to_owned(),
        };
        let more = beside_status(&request.expect);
        let method = &request.method;
        format!("{number} × {method} of the log{name}{headers}; ok: status {status}{more}")
    };
    plan.requests().iter().map(one).collect()
}

/// What is replayed, and how fast.
fn replayed_load(replay: &Replay, load: &Load) -> Vec<String> {
    let arrivals = &replay.arrivals;
    let requests = human::counted(arrivals.requests(), "request");
    let connections = match u64::from(arrivals.connections()) {
        0 => String::new(),
        number => format!(" of {}", human::counted(number, "connection")),
    };
    let seconds = |ns: u64| significant(ns as f64 / 1e9);
    let peak = load.peak_rate().map_or(0.0, |peak| peak.as_per_second());
    let turns = match arrivals.turns() {
        1 => "once".to_owned(),
        turns => format!("{turns} times"),
    };
    let most = match load.shape {
        Shape::Open {
            max_connections, ..
        } => format!(", at most {max_connections} connections"),
        Shape::Closed { .. } => String::new(),
    };
    let repeated = match replay.connections {
        ReplayConnections::Pooled => String::new(),
        ReplayConnections::Recorded => format!(
            ", which are repeated, up to {} at once",
            arrivals.open_at_once()
        ),
    };
    let handshakes = arrivals.handshake_facts().map(|facts| {
        format!(
            "handshakes of a turn as in the log: {} full and {} resumed, {} over TLS 1.2 and {} \
             over TLS 1.3, with {}",
            facts.full,
            facts.resumed,
            facts.tls12,
            facts.tls13,
            human::counted(u64::from(facts.names), "server name")
        )
    });
    let mut lines = vec![
        format!(
            "{}: {requests}{connections} within {} s of the log{repeated}",
            replay.file.name,
            seconds(arrivals.length_ns())
        ),
        format!(
            "{turns}, {} times as fast: {} s in all, up to {} requests/s{most}",
            arrivals.speed(),
            seconds(
                arrivals
                    .turn_ns()
                    .saturating_mul(u64::from(arrivals.turns()))
            ),
            significant(peak)
        ),
    ];
    lines.extend(handshakes);
    lines
}

/// What an answer must have beside its status.
fn beside_status(expect: &Expect) -> String {
    let bytes = expect.bytes.as_ref().map(|bytes| match bytes.start() {
        exact if exact == bytes.end() => format!(" and {exact} bytes"),
        least => format!(" and {least} to {} bytes", bytes.end()),
    });
    let checks = match expect.checks.len() {
        0 => String::new(),
        1 => " and 1 check".to_owned(),
        many => format!(" and {many} checks"),
    };
    bytes.unwrap_or_default() + &checks
}

fn request(request: &Request, target: &Target, share: f64) -> String {
    let path = request
        .path
        .as_ref()
        .map_or_else(|| target.url.path.clone(), ToString::to_string);
    let line = match &request.grpc {
        Some(grpc) => format!("gRPC {}", grpc.method),
        None => format!("{} {path}", request.method),
    };
    let is_named_so = line == request.name || line == format!("gRPC {}", request.name);
    let name = if is_named_so {
        String::new()
    } else {
        format!(" as {:?}", request.name)
    };
    let body = match &request.body {
        Some(Body::Text(text)) => format!(", body of {} bytes", text.to_string().len()),
        Some(Body::Multipart(body)) => format!(", body of {} parts", body.parts.len()),
        Some(Body::File(file)) => format!(", body {} of {} bytes", file.name, file.content.len()),
        Some(Body::Message(parts)) => match parts.as_slice() {
            [] => ", empty message".to_owned(),
            [MessagePart::Bytes(bytes)] => format!(", message of {} bytes", bytes.len()),
            _ => ", message with placeholders".to_owned(),
        },
        None => String::new(),
    };
    let headers = match request.headers.len() {
        0 => String::new(),
        1 => ", 1 header".to_owned(),
        many => format!(", {many} headers"),
    };
    let credentials = request.auth.as_ref();
    let credentials =
        credentials.map_or_else(String::new, |auth| format!(", credentials {:?}", auth.name));
    let redirects = match request.redirects {
        0 => String::new(),
        most => format!(", up to {}", human::counted(u64::from(most), "redirect")),
    };
    let answer = answer(request);
    let more = grpc_statuses(request) + &beside_status(&request.expect);
    let ranges: Vec<String> = request
        .expect
        .status
        .ranges
        .iter()
        .map(|&range| statuses_text(range))
        .collect();
    let share = if share == 1.0 {
        String::new()
    } else {
        percent(share)
    };
    format!(
        "{share}{line}{name}{body}{headers}{credentials}{redirects}{answer}; ok: status {}{more}",
        ranges.join(", ")
    )
}

/// What a request is answered with, if that is more than a body.
fn answer(request: &Request) -> String {
    match (&request.websocket, &request.stream) {
        (Some(socket), _) => match socket.until {
            SocketEnd::Messages(number) => {
                let messages = human::counted(u64::from(number), "message");
                format!(", a WebSocket for {messages}")
            }
            SocketEnd::Held(time) => format!(", a WebSocket held for {}", duration_text(time)),
        },
        (None, Some(_)) if request.grpc.is_some() => {
            ", answered with a stream of messages".to_owned()
        }
        (None, Some(_)) => ", answered with a stream of events".to_owned(),
        (None, None) => String::new(),
    }
}

/// The statuses of gRPC that are right, if the request is a call.
fn grpc_statuses(request: &Request) -> String {
    let statuses = request.expect.grpc_status.iter();
    let names: Vec<&str> = statuses.map(|status| status.name()).collect();
    match (&request.grpc, names.as_slice()) {
        (None, _) => String::new(),
        (Some(_), []) => " and gRPC ok".to_owned(),
        (Some(_), names) => format!(" and gRPC {}", names.join(", ")),
    }
}

fn statuses_text((low, high): (u16, u16)) -> String {
    if low == high {
        low.to_string()
    } else {
        format!("{low}-{high}")
    }
}

fn connection(connection: &Connection) -> Vec<String> {
    let requests = match connection.requests {
        RequestsPerConnection::HandshakeOnly => "handshake only".to_owned(),
        RequestsPerConnection::Limited(number) if number.get() == 1 => "1 request each".to_owned(),
        RequestsPerConnection::Limited(number) => format!("{number} requests each"),
        RequestsPerConnection::Unlimited => "kept alive".to_owned(),
    };
    let close = match connection.close {
        Close::Fin => "closed by us (FIN)",
        Close::Server => "closed by the server",
        Close::Rst => "reset by us",
    };
    let tail = match connection.requests {
        RequestsPerConnection::HandshakeOnly if connection.confirm => {
            " and confirmed by the server's end"
        }
        RequestsPerConnection::HandshakeOnly => ", not confirmed",
        _ => "",
    };
    let http = match (connection.requests, connection.http) {
        (RequestsPerConnection::HandshakeOnly, _) => String::new(),
        (_, http) => match http.streams() {
            1 => format!(", HTTP/{}", http.word()),
            streams => format!(", HTTP/{} with {streams} requests at once", http.word()),
        },
    };
    let timeouts = connection.timeouts;
    let mut lines = vec![
        format!("{requests}, {close}{tail}{http}"),
        format!(
            "time-outs: connect {}, handshake {}, request {}",
            duration_text(timeouts.connect),
            duration_text(timeouts.handshake),
            duration_text(timeouts.request)
        ),
    ];
    if !connection.source_addresses.is_empty() {
        lines.push(format!(
            "from {}, in turn",
            list(&connection.source_addresses)
        ));
    }
    lines
}

fn roots<'p>(plan: &'p Plan, tls: &'p Tls) -> &'p str {
    let default = if plan.target().builtin.is_some() {
        "the target's own CA"
    } else {
        "the platform's roots"
    };
    tls.ca.as_ref().map_or(default, |ca| ca.name.as_str())
}

fn tls(tls: &Tls, roots: &str) -> Vec<String> {
    let suites: Vec<&str> = tls.cipher_suites.iter().map(|suite| suite.name).collect();
    let groups: Vec<&str> = tls.groups.iter().map(|group| group.name).collect();
    let mut lines = vec![
        enumerate("version", &tls.versions),
        if suites.len() == CipherSuite::ALL.len() {
            format!("suites all {} that rustls has", suites.len())
        } else {
            enumerate("suite", &suites)
        },
        enumerate("group", &groups),
        care(tls, roots),
    ];
    if let Some(schemes) = &tls.signatures {
        let schemes: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
        lines.push(enumerate("signature scheme", &schemes));
    }
    match &tls.server_name {
        ServerNames::OfUrl => {}
        ServerNames::Given(name) => lines.push(format!("server name {name}")),
        ServerNames::Column(column) => lines.push(format!("server name {column}")),
    }
    lines.extend(identities(&tls.client_certificates));
    lines.extend(key_log(tls.key_log));
    lines
}

/// Says whose secrets agents write down.
fn key_log(log: KeyLog) -> Option<String> {
    match log {
        KeyLog::Off => None,
        KeyLog::All => Some("key log of every connection".to_owned()),
        KeyLog::Sampled { failed, slow, over } => {
            let failed = (failed > 0).then(|| format!("{failed} failed"));
            let slow = (slow > 0).then(|| format!("{slow} slower than {over:?}"));
            let first = failed
                .into_iter()
                .chain(slow)
                .collect::<Vec<_>>()
                .join(" and ");
            Some(format!("key log of each agent's first {first} connections"))
        }
    }
}

/// Says which identities the client presents.
fn identities(identities: &ClientCertificates) -> Option<String> {
    match identities {
        ClientCertificates::Files(pairs) => match pairs.as_slice() {
            [] => None,
            [one] => Some(format!("client certificate {}", one.cert.name)),
            many => Some(format!(
                "{} client certificates, handed out over virtual users: {}",
                many.len(),
                names(many)
            )),
        },
        ClientCertificates::Mint(minting) => Some(format!(
            "{} client certificates {}, minted by {} and handed out over virtual users",
            minting.number, minting.subject, minting.ca.name
        )),
    }
}

fn names(pairs: &[ClientCertificate]) -> String {
    let (shown, more) = pairs.split_at(pairs.len().min(LISTED_MAX));
    let names: Vec<&str> = shown.iter().map(|pair| pair.cert.name.as_str()).collect();
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(" and {} more", more.len())
    };
    format!("{}{more}", names.join(", "))
}

/// Says what is checked, and what is done anew for each connection.
fn care(tls: &Tls, roots: &str) -> String {
    let verify = match tls.verify {
        Verify::Full => format!("server verified by {roots}"),
        Verify::Once => format!("each chain verified once by {roots}"),
        Verify::None => "server not verified".to_owned(),
    };
    let keys = match tls.key_exchange {
        KeyExchange::Fresh => "fresh keys",
        KeyExchange::Cheap => "cheap keys, no secrecy",
    };
    let shares = match tls.key_share {
        KeyShare::First => "",
        KeyShare::Remembered => " for the group that an address took last",
    };
    let resumed = match tls.resumption {
        Resumption::Recorded => "resumed as in the log".to_owned(),
        Resumption::Never => "never resumed".to_owned(),
        Resumption::Share { share, kind } => {
            let kind = if kind == ResumptionKind::SessionId {
                " by session id"
            } else {
                ""
            };
            format!(
                "{} of connections offer a session{kind}",
                analysis::human::share(share)
            )
        }
    };
    let alpn = if tls.alpn.is_empty() {
        "no ALPN".to_owned()
    } else {
        format!("ALPN {}", tls.alpn.join(", "))
    };
    let early = if tls.early_data {
        "; requests as early data"
    } else {
        ""
    };
    format!("{verify}; {keys}{shares}; {resumed}{early}; {alpn}")
}

fn load(load: &Load, unit: WorkUnit) -> Vec<String> {
    let one = match unit {
        WorkUnit::Request => "operation",
        WorkUnit::Journey => "journey",
    };
    let mut lines = vec![match &load.shape {
        Shape::Closed {
            connections,
            max_connections,
            think_time,
        } => {
            let pause = think_time.map_or_else(String::new, |pause| {
                match (duration_text(pause.min), duration_text(pause.max)) {
                    (min, max) if min == max => format!(", pausing {min} between {one}s"),
                    (min, max) => format!(", pausing {min} to {max} between {one}s"),
                }
            });
            let users = human::counted(u64::from(*connections), "virtual user");
            let shared = max_connections.map_or_else(String::new, |most| {
                let most = human::counted(u64::from(most), "connection");
                format!(" who share {most} at most")
            });
            format!("closed loop: {users}{shared}{pause}")
        }
        Shape::Open {
            rate,
            arrivals,
            max_connections,
            users,
        } => open_loop((*rate, *arrivals), (*max_connections, *users), unit),
    }];
    let first = match &load.shape {
        Shape::Closed { connections, .. } => f64::from(*connections),
        Shape::Open { rate, .. } => rate.as_per_second(),
    };
    lines.extend(stages(first, &load.stages, &load.shape));
    if !load.connect_ramp.is_zero() {
        lines.push(format!(
            "first connections spread over {}",
            duration_text(load.connect_ramp)
        ));
    }
    let warm_up = if load.warm_up.is_zero() {
        String::new()
    } else {
        format!("warm-up {}, then ", duration_text(load.warm_up))
    };
    lines.push(match load.end {
        End::Duration(duration) if warm_up.is_empty() => {
            format!("ends after {}", duration_text(duration))
        }
        End::Duration(duration) => format!("{warm_up}{}", duration_text(duration)),
        End::Requests(requests) => format!(
            "{warm_up}until {} {} ended",
            human::counted(requests, one),
            human::one_or_many(requests, "has", "have")
        ),
    });
    lines
}

fn open_loop(
    (rate, arrivals): (Rate, Arrivals),
    (max_connections, users): (u32, Option<u32>),
    unit: WorkUnit,
) -> String {
    // Poisson is a person's name, and the plan's words have no capitals.
    let arrivals = match arrivals {
        Arrivals::Even => Arrivals::Even.word(),
        Arrivals::Poisson => "Poisson",
    };
    let of_journeys = match unit {
        WorkUnit::Request => "",
        WorkUnit::Journey => " of journeys",
    };
    let of_users = users.map_or_else(String::new, |users| {
        format!(", shared by {}", human::counted(u64::from(users), "user"))
    });
    format!(
        "open loop: {rate}, {arrivals} arrivals{of_journeys}, at most {max_connections} \
         connections{of_users}"
    )
}

fn stages(first: f64, stages: &[Stage], shape: &Shape) -> Option<String> {
    let unit = match shape {
        Shape::Open { .. } => "/s",
        Shape::Closed { .. } => "",
    };
    let mut before = first;
    let mut said = Vec::new();
    for Stage { over, to } in stages {
        let amount = (to * 1000.0).round() / 1000.0; // a sum of ramps has fractions
        said.push(match (over.is_zero(), *to == before) {
            (true, _) => format!("step to {amount}{unit}"),
            (false, true) => format!("{} at {amount}{unit}", duration_text(*over)),
            (false, false) => format!("{} to {amount}{unit}", duration_text(*over)),
        });
        before = *to;
    }
    (!said.is_empty()).then(|| said.join(", then "))
}

fn thresholds(plan: &Plan) -> Vec<String> {
    if plan.thresholds().is_empty() {
        return vec!["none".to_owned()];
    }
    plan.thresholds().iter().map(ToString::to_string).collect()
}

/// `suite A`, or `suites A, B`; a long list is cut short.
fn enumerate(noun: &str, items: &[impl Display]) -> String {
    let plural = human::one_or_many(items.len() as u64, "", "s");
    let more = items.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "{noun}{plural} {}{more}",
        list(&items[..items.len().min(LISTED_MAX)])
    )
}

fn list(items: &[impl Display]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{NoFiles, Plan};

    #[test]
    fn credentials_and_redirects_of_a_request_are_told() {
        let text = r#"
target.url = "http://a.test/"
auth.api.bearer = "secret"
request = { auth = "api", redirects = 5 }
load = { connections = 1, duration = "1s" }
"#;
        let plan = Plan::parse(text, &mut NoFiles).expect("a plan");
        let line = request(&plan.requests()[0], plan.target(), 1.0);
        assert_eq!(
            line,
            "GET /, credentials \"api\", up to 5 redirects; ok: status 100-399"
        );
    }

    #[test]
    fn origins_that_redirects_may_lead_to_are_told() {
        let text = r#"
load = { connections = 1, duration = "1s" }
request.redirects = 5
[target]
url = "http://a.test/"
redirects_to = ["https://a.test", { url = "http://b.test:81", addresses = ["::1"] }]
"#;
        let plan = Plan::parse(text, &mut NoFiles).expect("a plan");
        assert_eq!(
            target(plan.target()),
            [
                "http://a.test/",
                "a.test is resolved once, by each agent; its addresses are used in turn",
                "redirects may lead to https://a.test",
                "redirects may lead to http://b.test:81, connecting to ::1, in turn",
            ]
        );
    }

    #[test]
    fn loads_of_journeys_are_told_with_their_stages() {
        let plan = |first: &str, second: &str| {
            let text = format!(
                r#"
target.url = "http://a.test/"
load.duration = "9m"
[[journey]]
name = "browse"
steps = ["a", "a"]
load = {{ {first} }}
[[journey]]
name = "buy"
steps = ["a"]
load = {{ {second} }}
[[request]]
name = "a"
"#
            );
            Plan::parse(&text, &mut NoFiles).expect("a plan")
        };
        let rest = "requests on average if none fails, on a connection that is kept";
        let users = plan(
            "connections = 10, stage = [{ over = \"5m\", to = 500 }, { over = \"1m\" }]",
            "connections = 1",
        );
        assert_eq!(
            journeys(&users),
            [
                format!(
                    "\"browse\": 10 virtual users, then 5m to 500, then 1m at 500; 2 steps, 2 \
                     {rest}"
                ),
                format!("\"buy\": 1 virtual user; 1 step, 1 {rest}"),
            ]
        );
        let arrivals = plan(
            "rate = \"0.5/s\"",
            "rate = \"0/s\", stage = [{ over = \"10s\" }, { to = \"5/s\" }]",
        );
        assert_eq!(
            journeys(&arrivals),
            [
                format!("\"browse\": 0.5/s; 2 steps, 2 {rest}"),
                format!("\"buy\": 0/s, then 10s at 0/s, then step to 5/s; 1 step, 1 {rest}"),
            ]
        );
    }
}
