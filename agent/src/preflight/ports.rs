//! Local ports. Each connection takes one from its pair of a source address and a target address
//! with its port. If this side closes it, it keeps the port while it is in TIME_WAIT. Over TLS it
//! may not come to that: of 400 connections in a network namespace, all did with plain HTTP, a
//! quarter to a half with TLS to nginx, and hardly any to HAProxy (one run each). Probably the
//! server's answer to the end of TLS meets a closed socket, which the kernel resets.

use super::{MachineRemark, Severity, Undertaking, either, enough};
use host::{MachineLimits, PortLimits, PortReuse};
use measure::nanoseconds;
use plan::{Close, Connection, End, HttpVersion, RequestsPerConnection};
use std::net::SocketAddr;
use std::time::Duration;

/// `TCP_TIMEWAIT_LEN` of the kernel.
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Ports that any user can have: those below 1024 are reserved for services.
const PORTS_MOST: f64 = 64_512.0;

/// At how many instants the course of a load is looked at.
const LOOKS: u64 = 2_000;

pub(super) fn ports(of: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    let need = PortNeed::new(of, &limits.ports);
    let severity = match need.severity()? {
        // Open connections alone would have room, and only the closed ones depend on the rate.
        severity if need.open <= need.room => of.by_rate(severity),
        severity => severity,
    };
    Some(severity.remark(format!("{}; {}", need.describe(), either(&need.cures(of)))))
}

/// The ports that a share needs at once, and those that there are.
struct PortNeed {
    limits: PortLimits,
    /// Number of pairs of a source and a target address.
    pairs: usize,
    /// Number of ports in all pairs.
    room: f64,
    /// Number of connections that are open at once.
    open: f64,
    /// How long a closed connection keeps its port.
    keeps: Duration,
    /// Ports of connections that were closed here; `None` if none keeps its port.
    kept: Option<KeptPorts>,
    /// Whether the target uses TLS, so that the server decides how many keep their ports.
    is_tls: bool,
    /// The field of the plan that bounds open connections.
    field: &'static str,
}

/// Ports of connections that were closed here.
struct KeptPorts {
    /// Most connections opened per second.
    per_s: f64,
    /// Most ports kept at once.
    most: f64,
    /// Seconds from the start until no port is left.
    run_out_s: Option<f64>,
}

impl PortNeed {
    fn new(of: &Undertaking<'_>, limits: &PortLimits) -> PortNeed {
        let pairs = engine::port_pairs(of.plan, of.addresses);
        let room = limits.number as f64 * pairs as f64;
        let open = of.users() as f64;
        let keeps = match limits.reuse {
            PortReuse::Always => limits.reuse_after,
            PortReuse::Loopback if is_loopback(of.addresses) => limits.reuse_after,
            PortReuse::Loopback | PortReuse::Never => TIME_WAIT,
        };
        PortNeed {
            limits: *limits,
            pairs,
            room,
            open,
            keeps,
            kept: KeptPorts::new(of, limits.time_wait_max, keeps, room - open),
            is_tls: of.plan.tls().is_some(),
            field: of.share.connections_field(),
        }
    }

    fn severity(&self) -> Option<Severity> {
        match Severity::of_bound(self.ports(), self.room) {
            // Over TLS, closed connections may not keep their ports.
            Some(Severity::Refusal) if self.is_tls && self.open <= self.room => {
                Some(Severity::Concern)
            }
            None if self.is_taken() => Some(Severity::Concern),
            severity => severity,
        }
    }

    fn ports(&self) -> f64 {
        self.open + self.kept.as_ref().map_or(0.0, |kept| kept.most)
    }

    /// Whether there would be enough ports without those that are in TIME_WAIT already. It is not
    /// known to which addresses these were connected.
    fn is_taken(&self) -> bool {
        let now = self.limits.time_wait as f64;
        let free = self.room - self.ports();
        self.keeps == TIME_WAIT && self.ports() > 0.0 && free >= 0.0 && now > free
    }

    fn describe(&self) -> String {
        let PortNeed {
            pairs, room, open, ..
        } = self;
        let places = match pairs {
            1 => "1 pair of a source and a target address has".to_owned(),
            pairs => format!("{pairs} pairs of a source and a target address have"),
        };
        let beside = match self.limits.time_wait {
            now if self.is_taken() => format!(", {now} of this machine's are in TIME_WAIT already"),
            _ => String::new(),
        };
        let Some(kept) = self.kept.as_ref().filter(|_| open <= room) else {
            return format!(
                "{}: this agent's share is {open}, and {places} {room} local ports{beside}",
                self.field
            );
        };
        let lead = match kept.run_out_s {
            Some(after_s) if self.is_tls => format!("local ports may run out after {after_s:.0} s"),
            Some(after_s) => format!("local ports run out after {after_s:.0} s"),
            None => "local ports may run out".to_owned(),
        };
        let unless = match self.is_tls {
            true => " unless the server answers the end of TLS",
            false => "",
        };
        format!(
            "{lead}: up to {} connections/s are closed by this agent, and each keeps its port \
             for {} s{unless}: up to {} are taken at once, and {places} {room}{beside}",
            round(kept.per_s),
            self.keeps.as_secs_f64(),
            self.ports().ceil(),
        )
    }

    /// Each of these cures is enough alone.
    fn cures(&self, of: &Undertaking<'_>) -> Vec<String> {
        let connection = of.plan.connection();
        // Agents on one machine share its ports.
        let agents = of.agents_for(self.ports(), self.room);
        let elsewhere = |agents| format!("{agents} on machines of their own");
        let mut cures: Vec<String> = agents.into_iter().map(elsewhere).collect();
        let sources = connection.source_addresses.len().max(1);
        let needed = enough(sources as f64, self.ports(), self.room);
        cures.extend(needed.map(|needed| format!("{needed} connection.source_addresses")));
        if self.kept.is_some() && self.open <= self.room {
            // A reset frees the port at once, and a close by the server leaves TIME_WAIT to the
            // server.
            cures.push(match server_may_close(connection) {
                true => "connection.close = \"server\" or \"rst\"".to_owned(),
                false => "connection.close = \"rst\"".to_owned(),
            });
        }
        let most = PORTS_MOST * self.pairs as f64;
        if self.ports() <= most && self.room < most {
            cures.push("sysctl net.ipv4.ip_local_port_range=\"1024 65535\"".to_owned());
        }
        let reused = |kept: &KeptPorts| {
            let soon = kept.per_s * self.limits.reuse_after.as_secs_f64();
            self.keeps == TIME_WAIT && self.open + soon <= self.room
        };
        if self.kept.as_ref().is_some_and(reused) {
            cures.push("sysctl net.ipv4.tcp_tw_reuse=1".to_owned());
        }
        cures
    }
}

impl KeptPorts {
    /// `None` if TIME_WAIT is not on this side, or if connections are not closed one after the
    /// other.
    fn new(
        of: &Undertaking<'_>,
        time_wait_max: u64,
        keeps: Duration,
        free: f64,
    ) -> Option<KeptPorts> {
        let per_s = of.demand.connections_per_s.filter(|&per_s| per_s > 0.0)?;
        if of.plan.connection().close != Close::Fin {
            return None;
        }
        let most_ever = of
            .demand
            .connections_in_all
            .map_or(f64::MAX, |all| all as f64);
        let most_kept = most_ever.min(time_wait_max as f64);
        let course = course(of, per_s, keeps);
        let taken = course.iter().map(|&(_, taken)| taken.min(most_kept));
        let run_out = course
            .iter()
            .find(|&&(_, taken)| taken.min(most_kept) > free);
        Some(KeptPorts {
            per_s,
            most: taken.fold(0.0, f64::max).round(),
            run_out_s: run_out.map(|&(at_s, _)| at_s),
        })
    }
}

/// How many ports closed connections keep, at instants in seconds from the start.
fn course(of: &Undertaking<'_>, per_s: f64, keeps: Duration) -> Vec<(f64, f64)> {
    let load = of.plan.load();
    let length_ns = match load.end {
        End::Duration(duration) => Some(nanoseconds(load.warm_up + duration)),
        End::Requests(_) => load
            .measured_span_ns()
            .map(|ns| ns.saturating_add(nanoseconds(load.warm_up))),
    };
    // A load without an end counts as one that lasts until the first port is free again.
    let length_ns = length_ns.unwrap_or_else(|| nanoseconds(keeps));
    let peak = load.peak_rate().map(|rate| rate.as_per_second());
    let step_ns = (length_ns / LOOKS).max(1);
    let looks = (0..=length_ns / step_ns).map(|look| look * step_ns);
    looks
        .map(|until| {
            let from = until.saturating_sub(nanoseconds(keeps));
            let arrivals = load.arrivals_between(from, until).zip(peak);
            let taken = match arrivals {
                Some((arrivals, peak)) => arrivals * per_s / peak,
                None => (until - from) as f64 / 1e9 * per_s,
            };
            (until as f64 / 1e9, taken)
        })
        .collect()
}

fn is_loopback(addresses: &[SocketAddr]) -> bool {
    addresses
        .iter()
        .all(|address| address.ip().to_canonical().is_loopback())
}

/// The server is asked to with the last request, and only in HTTP/1.1.
fn server_may_close(connection: &Connection) -> bool {
    let has_last = matches!(connection.requests, RequestsPerConnection::Limited(_));
    has_last && connection.http == HttpVersion::Http11
}

/// Rounded to a whole number, unless it is small.
fn round(per_s: f64) -> f64 {
    match per_s {
        small if small < 10.0 => (small * 10.0).round() / 10.0,
        large => large.round(),
    }
}
