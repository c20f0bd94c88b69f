//! The peak demand of a plan's share on its machine. Only computes the figures; comparing them with
//! the machine is done elsewhere.

use crate::load::MAX_RATE;
use crate::{
    Body, Builtin, BuiltinKey, End, Group, HttpVersion, Instance, Journey, MadeSource, MessagePart,
    Multipart, Piece, Plan, Portion, Request, RequestsPerConnection, Resumption, Shape, Share,
    Template,
};
use measure::nanoseconds;

/// Size of a request's head without method, path and the plan's own fields, in bytes.
const HEAD_BYTES: f64 = 30.0;

/// The peak demand of a plan's share on its machine, as far as the plan determines it. `None` is
/// used for what depends on the answers: a closed loop without a think time goes as fast as it is
/// answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Most connections open at once: virtual users, or the connection limit of an open loop. With
    /// HTTP/2 these are connections too; a draining one closes while its successor is open.
    pub connections: u32,
    /// Operations begun per second. With a think time, the rate that virtual users would reach if
    /// answers took no time.
    pub operations_per_s: Option<f64>,
    /// Connections opened per second, with TLS or without. 0 if `connection.requests` is unlimited:
    /// the first ones are not a rate, and whether the target closes connections is unknown.
    pub connections_per_s: Option<f64>,
    /// Full handshakes per second; 0 without TLS. A first connection has no session to offer,
    /// whatever the plan's share of resumption.
    pub full_handshakes_per_s: Option<f64>,
    /// Resumed handshakes per second; 0 without TLS.
    pub resumed_handshakes_per_s: Option<f64>,
    /// The key-exchange group: the first one offered, for which the share is sent. The server can
    /// choose another one. `None` without TLS.
    pub group: Option<Group>,
    /// The server's key, which is only known for the built-in target.
    pub key: Option<BuiltinKey>,
    /// Whether requests go over HTTP/2.
    pub is_http2: bool,
    /// Requests per second; 0 with `connection.requests = 0`.
    pub requests_per_s: Option<f64>,
    /// Bytes of requests per second, heads and bodies, before encryption. Heads are those of
    /// HTTP/1.1, accurate to about 30 bytes each.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes of answer bodies per second, if the size is known for every request: from
    /// `expect.bytes`, or from the built-in target's `body_bytes`.
    pub received_bytes_per_s: Option<f64>,
    /// Connections opened in the whole run including its warm-up; `None` if the run's length or
    /// rate is unknown.
    pub connections_in_all: Option<u64>,
}

impl Plan {
    /// Computes the peak demand of `portion` of the load.
    #[must_use]
    pub fn demand(&self, portion: &Portion) -> Demand {
        let share = self.share_of(portion);
        let rate = match share.peak_rate {
            Some(rate) => Some(rate.as_per_second() * self.operations_per_unit()),
            None => self.thinking_rate(&share),
        };
        Demand {
            connections_in_all: self.connections_in_all(portion, &share),
            ..self.demand_at(&share, rate)
        }
    }

    /// Computes the demand of this share at `operations_per_s`, whatever the plan's rate. The
    /// number of connections in the whole run is then unknown.
    #[must_use]
    pub fn demand_at(&self, share: &Share, operations_per_s: Option<f64>) -> Demand {
        let per_s = |each: f64| Some(operations_per_s? * each);
        // Connections opened per second once the load is steady: those of a persistent loop stay
        // open.
        let connections = match self.connection.requests {
            RequestsPerConnection::HandshakeOnly => per_s(1.0),
            RequestsPerConnection::Limited(number) => {
                let of_journeys = self.journeys_on_new() / self.operations_per_unit();
                per_s(of_journeys.max(1.0 / f64::from(number.get())))
            }
            RequestsPerConnection::Unlimited => match self.repeated_connections() {
                Some(each) => per_s(each),
                None if self.journeys_on_new() > 0.0 => {
                    per_s(self.journeys_on_new() / self.operations_per_unit())
                }
                None => Some(0.0),
            },
        };
        let has_requests = self.connection.requests != RequestsPerConnection::HandshakeOnly;
        let of_requests = |each: f64| if has_requests { per_s(each) } else { Some(0.0) };
        // What the plan asks for; the server may resume fewer.
        let resumed = self.resumption_share();
        let handshakes = |part: f64| match self.tls {
            Some(_) => connections.map(|connections| connections * part),
            None => Some(0.0),
        };
        Demand {
            connections: share.most_connections().unwrap_or(0),
            operations_per_s,
            connections_per_s: connections,
            full_handshakes_per_s: handshakes(1.0 - resumed),
            resumed_handshakes_per_s: handshakes(resumed),
            group: self
                .tls
                .as_ref()
                .and_then(|tls| tls.groups.first().copied()),
            key: self.builtin_key(),
            is_http2: matches!(self.connection.http, HttpVersion::Http2 { .. }),
            requests_per_s: of_requests(1.0),
            sent_bytes_per_s: of_requests(self.sent_bytes()),
            received_bytes_per_s: match self.received_bytes() {
                Some(bytes) => of_requests(bytes),
                None if has_requests => None,
                None => Some(0.0),
            },
            connections_in_all: None,
        }
    }

    /// Connections per request of a replay that repeats those of its log.
    fn repeated_connections(&self) -> Option<f64> {
        let arrivals = &self.replay.as_ref()?.arrivals;
        let each = f64::from(arrivals.connections()) / arrivals.requests() as f64;
        arrivals.repeats_connections().then_some(each)
    }

    /// The share of new connections that are to offer a session; 0 without TLS.
    #[must_use]
    pub fn resumption_share(&self) -> f64 {
        match self.tls.as_ref().map(|tls| tls.resumption) {
            Some(Resumption::Share { share, .. }) => share,
            Some(Resumption::Recorded) => self.recorded_resumption(),
            Some(Resumption::Never) | None => 0.0,
        }
    }

    /// The share of a log's connections that resumed a session.
    fn recorded_resumption(&self) -> f64 {
        let replay = self.replay.as_ref();
        let facts = replay.and_then(|replay| replay.arrivals.handshake_facts());
        facts.map_or(0.0, |facts| {
            let all = f64::from(facts.full) + f64::from(facts.resumed);
            f64::from(facts.resumed) / all.max(1.0)
        })
    }

    /// The server's key, if it is known.
    fn builtin_key(&self) -> Option<BuiltinKey> {
        let builtin = self.target.builtin.as_ref();
        builtin
            .filter(|builtin| builtin.tls)
            .map(|builtin| builtin.key)
    }

    /// Operations per second of virtual users who pause, if answers took no time.
    fn thinking_rate(&self, share: &Share) -> Option<f64> {
        let is_unbounded = Journey::some_never_pause(&self.journeys, &self.load);
        if is_unbounded || !matches!(self.load.shape, Shape::Closed { .. }) {
            return None;
        }
        let think = self.load.mean_think_s();
        let at_once = match share.max_connections {
            Some(_) => 1, // users who share connections make one journey each
            None => self.connection.http.streams(),
        };
        let users = f64::from(share.peak_connections?) * f64::from(at_once);
        let rate = users * self.operations_per_unit() / (think + self.mean_pauses());
        (rate <= MAX_RATE).then_some(rate) // without any pause it is infinite
    }

    /// Connections of the whole run. A connection that is not used up counts as one, and each
    /// virtual user, or connection of an open loop, can leave one such.
    fn connections_in_all(&self, portion: &Portion, share: &Share) -> Option<u64> {
        let open = u64::from(share.most_connections()?);
        match self.connection.requests {
            RequestsPerConnection::Unlimited => match self.repeated_connections() {
                Some(each) => {
                    let operations = self.operations_in_all(portion, share)?;
                    Some((operations as f64 * each).ceil() as u64)
                }
                None if self.journeys_on_new() > 0.0 => {
                    let operations = self.operations_in_all(portion, share)?;
                    Some(operations.min(self.connections_of_journeys(operations) + open))
                }
                None => Some(open),
            },
            RequestsPerConnection::HandshakeOnly => self.operations_in_all(portion, share),
            RequestsPerConnection::Limited(number) => {
                let operations = self.operations_in_all(portion, share)?;
                let full = operations / u64::from(number.get());
                let full = full.max(self.connections_of_journeys(operations));
                Some(operations.min(full + if number.get() > 1 { open } else { 0 }))
            }
        }
    }

    /// Connections that are opened because a journey begins, for this many operations.
    fn connections_of_journeys(&self, operations: u64) -> u64 {
        (operations as f64 * self.journeys_on_new() / self.operations_per_unit()).ceil() as u64
    }

    /// Operations of the whole run including the warm-up, rounded up.
    fn operations_in_all(&self, portion: &Portion, share: &Share) -> Option<u64> {
        if let Some(all) = self.load.arrivals_between(0, u64::MAX) {
            let all = all * self.operations_per_unit();
            return Some((all / portion.divisor()).ceil() as u64);
        }
        let thinking = self.thinking_rate(share);
        let lasts = |ns: u64| Some((thinking? * ns as f64 / 1e9).ceil() as u64);
        let warm_up = match nanoseconds(self.load.warm_up) {
            0 => 0,
            ns => lasts(ns)?,
        };
        let measured = match self.load.end {
            End::Requests(_) => (share.requests? as f64 * self.operations_per_unit()).ceil() as u64,
            End::Duration(duration) => lasts(nanoseconds(duration))?,
        };
        Some(warm_up + measured)
    }

    /// Bytes of a request as it is sent, averaged by the requests' weights.
    fn sent_bytes(&self) -> f64 {
        let logged = |request: &Request| {
            let arrivals = &self.replay.as_ref()?.arrivals;
            let number = arrivals.requests_of(&request.method).max(1);
            Some(arrivals.bytes_of(&request.method) as f64 / number as f64)
        };
        let bytes = |request: &Request| {
            let path = match &request.path {
                Some(path) => template_bytes(path),
                None if self.replay.is_some() => 0, // it is the log's
                None => self.target.url.path.len(),
            };
            let field = |(name, value): (&str, &Template)| {
                name.len() + template_bytes(value) + ": \r\n".len()
            };
            let fields: usize = request.fields().map(field).sum();
            let body = match &request.body {
                Some(Body::Text(text)) => template_bytes(text),
                Some(Body::File(file)) => file.content.len(),
                Some(Body::Multipart(parts)) => multipart_bytes(parts),
                Some(Body::Message(parts)) => message_bytes(parts),
                None => 0,
            };
            let own = (request.method.len() + path + fields + body) as f64;
            Some(own + logged(request).unwrap_or(0.0) + HEAD_BYTES)
        };
        self.mean_of_requests(bytes).unwrap_or(0.0)
    }

    /// Bytes of an answer's body, averaged by the requests' weights.
    fn received_bytes(&self) -> Option<f64> {
        let builtin = self.target.builtin.as_ref();
        let of_builtin = |builtin: &Builtin| builtin.body_bytes;
        let exact = |request: &Request| {
            let bytes = request.expect.bytes.as_ref()?;
            (bytes.start() == bytes.end()).then_some(*bytes.start())
        };
        self.mean_of_requests(|request| match request.method.as_str() {
            "HEAD" => Some(0.0),
            _ => Some(exact(request).or(builtin.map(of_builtin))? as f64),
        })
    }

    /// Mean over the requests by weight, in a replay by their number in the log; `None` if the
    /// value is unknown for one of them.
    fn mean_of_requests(&self, each: impl Fn(&Request) -> Option<f64>) -> Option<f64> {
        let weigh = |(sum, weights): (f64, f64), request: &Request| {
            let weight = self.weight(request);
            Some((sum + weight * each(request)?, weights + weight))
        };
        let (sum, weights) = self.requests.iter().try_fold((0.0, 0.0), weigh)?;
        (weights > 0.0).then_some(sum / weights)
    }

    fn weight(&self, request: &Request) -> f64 {
        let replay = self
            .replay
            .as_ref()
            .filter(|replay| replay.arrivals.log().entries() > 0);
        match replay {
            Some(replay) => replay.arrivals.requests_of(&request.method) as f64,
            None => self.weight_of(request),
        }
    }
}

fn multipart_bytes(parts: &Multipart) -> usize {
    let heads: usize = (0..parts.parts.len())
        .map(|part| parts.head(part).len())
        .sum();
    let texts: usize = parts.templates().map(template_bytes).sum();
    let files: usize = parts.files().map(|file| file.content.len()).sum();
    heads + texts + files + parts.end().len()
}

/// Bytes of an encoded message; most lengths within take one.
fn message_bytes(parts: &[MessagePart<Template>]) -> usize {
    let bytes = |part: &MessagePart<Template>| match part {
        MessagePart::Bytes(bytes) => bytes.len(),
        MessagePart::Text(text) => template_bytes(text),
        MessagePart::Number(..) => 4,
        MessagePart::Delimited(parts) => 1 + message_bytes(parts),
    };
    parts.iter().map(bytes).sum()
}

/// Bytes of a token that is not known yet: a signed one (RFC 7519) with some claims.
const TOKEN_BYTES: usize = 800;

/// Bytes of a captured text: an id, or a token that names a session.
const CAPTURED_BYTES: usize = 32;

/// Bytes of a template, with placeholders as long as in a run of some minutes.
fn template_bytes(template: &Template) -> usize {
    let length = |piece: &Piece| match piece {
        Piece::Literal(text) => text.len(),
        Piece::User => 4,
        Piece::Seq => 6,
        Piece::Random => 16,
        // The first row stands for all.
        Piece::Column(column) => column
            .file
            .table
            .cell(0, column.index)
            .length(column.escape),
        Piece::Made(made) => match &made.value.source {
            MadeSource::Generated(generator) => generator.length(Instance::SOME),
            MadeSource::Composed(made) => made.length(template_bytes(&made.of)),
        },
        Piece::Captured(_) => CAPTURED_BYTES,
        Piece::Token(_) => TOKEN_BYTES,
        Piece::Secret { value, escape, .. } => escape.length(value.reveal().as_bytes()),
    };
    template.pieces.iter().map(length).sum()
}

#[cfg(test)]
mod tests {
    use super::Demand;
    use crate::{BuiltinKey, NoFiles, Owner, Plan};

    fn demand(text: &str, agents: u32) -> Demand {
        let plan = Plan::parse(text, &mut NoFiles).unwrap();
        let owner = Owner {
            agents,
            ..Owner::ALONE
        };
        plan.demand(&owner.into())
    }

    #[test]
    fn an_open_loop_asks_for_its_peak_shared_by_its_agents() {
        let text = "target.builtin = true
             connection.requests = 1
             [load]
             rate = \"100/s\"
             warm_up = \"10s\"
             max_connections = 70
             stage = [{ over = \"10s\", to = \"400/s\" }, { over = \"10s\" }]";
        let asked = demand(text, 2);
        assert_eq!(asked.connections, 35);
        assert_eq!(asked.operations_per_s, Some(200.0));
        assert_eq!(asked.full_handshakes_per_s, Some(200.0));
        assert_eq!(asked.resumed_handshakes_per_s, Some(0.0));
        // 10 s at 50/s, 10 s from 50/s to 200/s, 10 s at 200/s.
        assert_eq!(asked.connections_in_all, Some(500 + 1_250 + 2_000));
    }

    #[test]
    fn journeys_on_new_connections_open_one_each() {
        let asked = demand(
            "target.url = \"http://a.test/\"
             request = [{ name = \"a\" }]
             journey = { steps = [\"a\"], connection = \"new\" }
             load = { rate = \"10/s\", duration = \"60s\", max_connections = 5 }",
            1,
        );
        assert_eq!(asked.connections_in_all, Some(600));
    }

    #[test]
    fn users_with_many_streams_are_counted_in_more_than_32_bits() {
        let asked = demand(
            "target.url = \"https://host.test\"
             connection = { http = \"2\", streams = 10000 }
             load = { connections = 429497, think_time = \"1h\", duration = \"1s\" }",
            1,
        );
        let wanted = 4_294_970_000.0 / 3_600.0;
        let found = asked.operations_per_s.unwrap();
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_share_of_resumed_handshakes_is_one_of_connections() {
        let asked = demand(
            "target.builtin = { key = \"rsa2048\", body_bytes = 1000 }
             connection.requests = 4
             tls = { resumption = { share = 0.75 }, groups = [\"P-256\", \"X25519\"] }
             load = { rate = \"400/s\", duration = \"10s\", max_connections = 70 }",
            1,
        );
        assert_eq!(asked.operations_per_s, Some(400.0));
        assert_eq!(asked.connections_per_s, Some(100.0));
        assert_eq!(asked.full_handshakes_per_s, Some(25.0));
        assert_eq!(asked.resumed_handshakes_per_s, Some(75.0));
        assert_eq!(asked.group.map(|group| group.name), Some("secp256r1"));
        assert_eq!(asked.key, Some(BuiltinKey::Rsa2048));
        assert_eq!(asked.requests_per_s, Some(400.0));
        assert_eq!(asked.received_bytes_per_s, Some(400_000.0));
        // 4,000 operations, and every connection can be left half used.
        assert_eq!(asked.connections_in_all, Some(1_000 + 70));
    }

    #[test]
    fn a_closed_loop_leaves_its_rate_open() {
        let load = "load = { connections = 10, duration = \"10s\" }";
        let each = |requests: &str| {
            demand(
                &format!("target.builtin = true\nconnection.requests = {requests}\n{load}"),
                3,
            )
        };
        let once = each("1");
        assert_eq!((once.connections, once.operations_per_s), (3, None));
        assert_eq!((once.connections_per_s, once.requests_per_s), (None, None));
        assert_eq!(
            (once.full_handshakes_per_s, once.connections_in_all),
            (None, None)
        );
        let kept = each("\"unlimited\"");
        assert_eq!(
            (kept.connections_per_s, kept.requests_per_s),
            (Some(0.0), None)
        );
        assert_eq!(kept.connections_in_all, Some(3));
        let handshakes = each("0");
        assert_eq!(
            (handshakes.connections_per_s, handshakes.requests_per_s),
            (None, Some(0.0))
        );
        assert_eq!(handshakes.received_bytes_per_s, Some(0.0));
    }

    #[test]
    fn users_who_think_have_a_highest_rate() {
        let asked = demand(
            "target.builtin = { tls = false }
             connection.requests = 0
             load = { connections = 30, think_time = { min = \"1s\", max = \"2s\" },
                      duration = \"60s\" }",
            1,
        );
        assert_eq!(asked.connections_per_s, Some(20.0));
        assert_eq!(
            (asked.full_handshakes_per_s, asked.group),
            (Some(0.0), None)
        );
        assert_eq!(asked.connections_in_all, Some(1_200));
    }

    #[test]
    fn users_of_a_journey_are_as_fast_as_their_own_pauses() {
        let plan = |rest: &str, think: &str| {
            let of_journeys = format!(
                "target.url = \"https://host.test\"
                 load = {{ duration = \"60s\"{think} }}
                 request = [{{ name = \"a\" }}, {{ name = \"b\" }}]
                 journey = [
                     {{ name = \"fast\", load.connections = 10, steps = [\"a\", {rest}] }},
                     {{ name = \"slow\", load.connections = 20, connection = \"new\",
                        steps = [\"b\", {{ pause = \"100s\" }}, \"b\"] }},
                 ]"
            );
            demand(&of_journeys, 1)
        };
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.expect("a bounded rate");
            assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
        };
        let asked = plan("{ pause = \"10ms\" }", "");
        near(asked.operations_per_s, 1000.0 + 0.4);
        near(asked.connections_per_s, 0.2);
        let asked = plan("{ pause = \"10ms\" }", ", think_time = \"1s\"");
        near(asked.operations_per_s, 10.0 / 1.01 + 40.0 / 101.0);
        let unbounded = plan("\"a\"", "");
        assert_eq!(unbounded.operations_per_s, None);
        assert_eq!(unbounded.connections_per_s, None);
    }

    #[test]
    fn a_number_of_operations_tells_the_connections() {
        let asked = demand(
            "target.url = \"https://host.test\"
             connection.requests = 1
             load = { connections = 10, requests = 1001 }",
            2,
        );
        assert_eq!(asked.connections_in_all, Some(500));
        assert_eq!((asked.key, asked.received_bytes_per_s), (None, None));
    }

    #[test]
    fn requests_have_a_mean_length_by_weight() {
        let asked = demand(
            "target.url = \"http://host.test/\"
             load = { rate = \"8/s\", duration = \"10s\" }
             request = [
                 { name = \"a\", weight = 3, expect.bytes = 100 },
                 { name = \"b\", path = \"/b\", headers = { x = \"y\" }, body = \"0123456789\",
                   method = \"POST\", expect.bytes = 300 },
             ]",
            1,
        );
        // GET, / and 30 bytes; POST, /b, x: y with its line end, 10 bytes of body and 30.
        let mean = (3.0 * 34.0 + (4.0 + 2.0 + 6.0 + 10.0 + 30.0)) / 4.0;
        assert_eq!(asked.sent_bytes_per_s, Some(8.0 * mean));
        assert_eq!(asked.received_bytes_per_s, Some(8.0 * 150.0));
    }
}
