//! Runs with the same load per agent and one agent, then two, …: where throughput stops rising.

use crate::{Document, LimitOf, LimitShown, Verdict, human, verdict};
use serde::{Deserialize, Serialize};

/// Throughput has stopped rising if it rises by less than this share of what the added agents would
/// bring alone.
const RISES_SHARE: f64 = 0.1;

/// Series of runs with 1, 2, … agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scaling {
    /// Runs by number of agents, ascending.
    pub rows: Vec<ScalingRow>,
    /// The smallest number of agents after which more bring nothing; absent if throughput still
    /// rose at the end.
    pub stops_at: Option<u32>,
    /// The limit that ends the rise, or that holds throughput while it still rises.
    #[serde(default)]
    pub limit: RiseLimit,
    /// Where throughput stops rising, and what limits it, in words.
    pub statement: String,
}

/// The limit of throughput as agents are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RiseLimit {
    /// The agents, or the load that each of them offers.
    Agents,
    /// The server, according to a verdict.
    Server,
    /// The network, according to a verdict.
    Network,
    /// The server or the network: throughput stopped although the agents had room, and no verdict
    /// says more.
    BeyondAgents,
    /// Not shown by anything; also used for results of versions that did not record it.
    #[default]
    Unknown,
}

/// A run with a certain number of agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScalingRow {
    /// Number of agents that fired.
    pub agents: u32,
    /// Operations that ended ok, per second.
    pub ok_per_second: f64,
    /// Operations begun per second.
    pub started_per_second: f64,
    /// 99th percentile of the response time.
    pub response_time_p99_ns: Option<u64>,
    /// Whether the 99th percentile is a lower bound.
    pub response_time_p99_at_least: bool,
    /// Share of operations that did not end ok; absent if none ended.
    pub error_share: Option<f64>,
    /// CPU share of the busiest worker of all agents; absent if it is not known.
    pub busiest_worker_share: Option<f64>,
    /// CPUs that the server's process kept busy; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<f64>,
    /// The run's verdict.
    pub verdict: Verdict,
    /// Whether a monitor watched some machine.
    #[serde(default)]
    pub is_watched: bool,
    /// Limits that the run shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitShown>,
    /// Folder of the run, which holds the whole result; can be empty.
    pub run: String,
}

impl ScalingRow {
    /// Creates the row of a run's document.
    #[must_use]
    pub fn new(document: &Document, run: String) -> ScalingRow {
        let measured = &document.measured;
        let p99 = measured.percentile("response_time", 99.0);
        ScalingRow {
            agents: u32::try_from(document.agents.len()).unwrap_or(u32::MAX),
            ok_per_second: measured.rates.ok_per_second,
            started_per_second: measured.rates.started_per_second,
            response_time_p99_ns: p99.map(|figure| figure.value_ns),
            response_time_p99_at_least: p99.is_some_and(|figure| figure.at_least),
            error_share: measured.operations.error_share,
            busiest_worker_share: document.busiest_worker_share(),
            server_cpus: document.server.and_then(|server| server.cpus),
            verdict: document.verdict.verdict,
            is_watched: document.is_watched(),
            limits: verdict::limits_shown(document),
            run,
        }
    }

    /// A run that lost agents did not have the number of agents it stands for.
    fn is_left_out(&self) -> bool {
        matches!(self.verdict, Verdict::Invalid | Verdict::Degraded)
    }

    /// Returns whose limit the run shows.
    fn limit(&self) -> RiseLimit {
        let has = |whose| self.limits.iter().any(|limit| limit.limit_of == whose);
        // A limit of the plan applies to each agent, so more agents raise it.
        let is_of_agents = has(LimitOf::Client) || has(LimitOf::Plan);
        if self.verdict == Verdict::ClientBound || is_of_agents {
            return RiseLimit::Agents;
        }
        match (has(LimitOf::Server), has(LimitOf::Network)) {
            (true, false) => RiseLimit::Server,
            (false, true) => RiseLimit::Network,
            _ => RiseLimit::Unknown,
        }
    }

    fn is_limited_beyond_agents(&self) -> bool {
        matches!(self.limit(), RiseLimit::Server | RiseLimit::Network)
    }

    fn limit_in_words(&self) -> String {
        LimitShown::in_words(&self.limits).map_or_else(String::new, |shown| format!(": {shown}"))
    }
}

impl Scaling {
    /// Draws the conclusion from runs in any order, one for each number of agents.
    #[must_use]
    pub fn new(mut rows: Vec<ScalingRow>) -> Scaling {
        rows.sort_by_key(|row| row.agents);
        let counted: Vec<&ScalingRow> = rows.iter().filter(|row| !row.is_left_out()).collect();
        let rise = Rise::new(&counted);
        let limit = rise.as_ref().map_or(RiseLimit::Unknown, Rise::limit);
        let said = match (&rise, rows.is_empty()) {
            (Some(rise), _) => rise.statement(limit),
            (None, true) => "no run was made".to_owned(),
            (None, false) => "fewer than two runs count: no rise is seen".to_owned(),
        };
        Scaling {
            stops_at: rise.and_then(|rise| rise.stop).map(|row| row.agents),
            limit,
            statement: said + &list_left_out(&rows),
            rows,
        }
    }
}

/// The runs that count, and where throughput stops rising among them.
struct Rise<'r> {
    first: &'r ScalingRow,
    /// The run with the most agents.
    last: &'r ScalingRow,
    /// `None` if throughput still rises.
    stop: Option<&'r ScalingRow>,
    /// The run that shows the limit: the largest of those that show more than the others.
    telling: &'r ScalingRow,
}

impl<'r> Rise<'r> {
    /// Takes rows by number of agents, ascending; returns `None` for fewer than two.
    fn new(rows: &[&'r ScalingRow]) -> Option<Rise<'r>> {
        let (&[first, ..], &[_, .., last]) = (rows, rows) else {
            return None;
        };
        let stop = stop(rows);
        // A run before the stop did not meet the limit that ended the rise. If throughput still
        // rises, only the last run can have met a limit.
        let from = stop.unwrap_or(last).agents;
        let mut from_stop_on = rows.iter().rev().filter(|row| row.agents >= from);
        let named = from_stop_on
            .clone()
            .find(|row| row.is_limited_beyond_agents());
        // The runs beyond the stop show that throughput stopped although the agents had room.
        let had_room =
            from_stop_on.find(|row| row.agents > from && row.limit() != RiseLimit::Agents);
        Some(Rise {
            first,
            last,
            stop,
            telling: named.or(had_room).copied().unwrap_or(last),
        })
    }

    fn limit(&self) -> RiseLimit {
        match (
            self.telling.limit(),
            self.stop,
            self.telling.limits.is_empty(),
        ) {
            (RiseLimit::Unknown, Some(_), true) => RiseLimit::BeyondAgents,
            (RiseLimit::Unknown, None, true) => RiseLimit::Agents,
            (limit, ..) => limit,
        }
    }

    fn statement(&self, limit: RiseLimit) -> String {
        let rate = |row: &ScalingRow| format!("{}/s", human::number(row.ok_per_second));
        let (last, telling) = (self.last, self.telling);
        let why = match (self.stop, limit) {
            (Some(_), RiseLimit::Agents) => format!(
                "the agents may still be the limit{}",
                telling.limit_in_words()
            ),
            (None, RiseLimit::Agents) => format!(
                "the agents, or the load that each of them offers, are still the limit{}",
                telling.limit_in_words()
            ),
            (_, RiseLimit::BeyondAgents) => describe_end(telling),
            (Some(_), _) => format!(
                "ended by {}, with {}",
                LimitShown::in_words(&telling.limits).unwrap_or_default(),
                agents(telling.agents)
            ),
            (None, _) => format!("a limit is near nevertheless{}", telling.limit_in_words()),
        };
        match self.stop {
            Some(stop) => format!(
                "throughput stops rising at {}, with {}: {} brought {}; {why}",
                agents(stop.agents),
                rate(stop),
                agents(last.agents),
                rate(last)
            ),
            None => format!(
                "throughput still rises with {}: {} against {} with {} ({} times); {why}",
                agents(last.agents),
                rate(last),
                rate(self.first),
                self.first.agents,
                human::number(last.ok_per_second / self.first.ok_per_second.max(f64::MIN_POSITIVE))
            ),
        }
    }
}

/// States the conclusion for a stop that no verdict explains.
fn describe_end(row: &ScalingRow) -> String {
    let busy = row.busiest_worker_share.map_or_else(String::new, |busy| {
        format!(" (the busiest worker was {} busy)", human::share(busy))
    });
    let next = if row.is_watched {
        "monitors saw nothing used up"
    } else {
        "a monitor beside the server can name the resource"
    };
    format!(
        "concluded from that: with {} the clients had room{busy} and brought no more, so the \
         server or the network is the limit; {next}",
        agents(row.agents)
    )
}

/// Returns the first run that no larger one beats by more than a tenth of what the added agents
/// would bring.
fn stop<'r>(rows: &[&'r ScalingRow]) -> Option<&'r ScalingRow> {
    let stops = |row: &&&ScalingRow| {
        let mut larger = rows
            .iter()
            .filter(|larger| larger.agents > row.agents)
            .peekable();
        larger.peek().is_some() && !larger.any(|larger| is_beaten(row, larger))
    };
    rows.iter().find(stops).copied()
}

/// Returns whether `larger` brings more than a tenth of what its added agents would bring alone.
fn is_beaten(row: &ScalingRow, larger: &ScalingRow) -> bool {
    let each = row.ok_per_second / f64::from(row.agents.max(1));
    let added = f64::from(larger.agents - row.agents);
    larger.ok_per_second - row.ok_per_second > RISES_SHARE * each * added
}

/// Lists the runs that do not count, in words.
fn list_left_out(rows: &[ScalingRow]) -> String {
    let left_out: Vec<String> = rows
        .iter()
        .filter(|row| row.is_left_out())
        .map(|row| row.agents.to_string())
        .collect();
    if left_out.is_empty() {
        return String::new();
    }
    let (runs, are) = match left_out.len() {
        1 => ("run", "is"),
        _ => ("runs", "are"),
    };
    let agents = left_out.join(" and ");
    format!("; the {runs} with {agents} cannot be trusted and {are} left out")
}

fn agents(number: u32) -> String {
    human::counted(u64::from(number), "agent")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuleId;

    fn rows(throughputs: &[(u32, f64)]) -> Vec<ScalingRow> {
        let row = |&(agents, ok_per_second): &(u32, f64)| ScalingRow {
            agents,
            ok_per_second,
            started_per_second: ok_per_second,
            response_time_p99_ns: None,
            response_time_p99_at_least: false,
            error_share: Some(0.0),
            busiest_worker_share: Some(0.5),
            server_cpus: None,
            verdict: Verdict::Undetermined,
            is_watched: false,
            limits: Vec::new(),
            run: String::new(),
        };
        throughputs.iter().map(row).collect()
    }

    #[test]
    fn throughput_stops_where_more_agents_bring_nearly_nothing() {
        for (throughputs, stops_at) in [
            (
                vec![(1, 476.0), (2, 951.0), (3, 955.0), (4, 959.0)],
                Some(2),
            ),
            (vec![(1, 476.0), (2, 952.0), (3, 1420.0), (4, 1780.0)], None),
            (vec![(4, 800.0), (1, 800.0), (2, 810.0)], Some(1)),
            (vec![(1, 100.0), (2, 100.0), (4, 400.0)], None),
            (vec![(1, 476.0), (2, 700.0), (3, 600.0)], Some(2)),
            (vec![(1, 476.0)], None),
            (vec![], None),
        ] {
            let scaling = Scaling::new(rows(&throughputs));
            assert_eq!(
                scaling.stops_at, stops_at,
                "{throughputs:?}: {}",
                scaling.statement
            );
        }
    }

    fn shown(rule: RuleId, figure: &str) -> Vec<LimitShown> {
        vec![LimitShown {
            limit_of: rule.limit_of(),
            rule: rule.name().to_owned(),
            figure: figure.to_owned(),
            bound: String::new(),
        }]
    }

    fn full_client(row: &mut ScalingRow) {
        row.verdict = Verdict::ClientBound;
        row.limits = shown(RuleId::Worker, "agent a: full");
    }

    #[test]
    fn stop_without_a_named_resource_is_concluded_from_the_runs_that_had_room() {
        let mut measured = rows(&[(1, 476.0), (2, 951.0), (3, 955.0)]);
        // At the stop itself the client may have been only just full.
        full_client(&mut measured[1]);
        let scaling = Scaling::new(measured.clone());
        assert_eq!(scaling.limit, RiseLimit::BeyondAgents);
        assert_eq!(
            scaling.statement,
            "throughput stops rising at 2 agents, with 951/s: 3 agents brought 955/s; concluded \
             from that: with 3 agents the clients had room (the busiest worker was 50.0 % busy) \
             and brought no more, so the server or the network is the limit; a monitor beside the \
             server can name the resource"
        );
        measured[2].is_watched = true;
        let text = Scaling::new(measured.clone()).statement;
        assert!(text.ends_with("monitors saw nothing used up"), "{text}");
        // If the runs beyond the stop had no room, nothing can be concluded.
        full_client(&mut measured[2]);
        let scaling = Scaling::new(measured);
        assert_eq!(scaling.limit, RiseLimit::Agents, "{}", scaling.statement);
        let why = "the agents may still be the limit: the client: worker (agent a: full)";
        assert!(scaling.statement.ends_with(why), "{}", scaling.statement);
    }

    #[test]
    fn stop_names_the_resource_that_the_last_verdict_beyond_it_names() {
        let mut measured = rows(&[(1, 476.0), (2, 951.0), (3, 955.0), (4, 950.0)]);
        full_client(&mut measured[0]);
        measured[2].verdict = Verdict::ServerBound;
        measured[2].limits = shown(RuleId::ServerQuota, "monitor db: stopped");
        // Limits that show the same, or less, are not listed beside it.
        for (rule, who) in [(RuleId::ServerQuota, "monitor b"), (RuleId::Throughput, "")] {
            let beside = shown(rule, who);
            measured[2].limits.extend(beside);
        }
        let scaling = Scaling::new(measured.clone());
        assert_eq!(scaling.limit, RiseLimit::Server);
        let why = "ended by the server: its CPU quota (monitor db: stopped), with 3 agents";
        assert!(scaling.statement.ends_with(why), "{}", scaling.statement);
        measured[3].limits = shown(RuleId::Link, "agent a: full");
        let scaling = Scaling::new(measured.clone());
        assert_eq!(scaling.limit, RiseLimit::Network);
        let why = "ended by the network: link (agent a: full), with 4 agents";
        assert!(scaling.statement.ends_with(why), "{}", scaling.statement);
        // A limit of a run before the stop did not end the rise.
        measured[0].limits = shown(RuleId::AcceptQueue, "monitor db: full");
        measured
            .iter_mut()
            .skip(1)
            .for_each(|row| row.limits.clear());
        assert_eq!(Scaling::new(measured).limit, RiseLimit::BeyondAgents);
    }

    #[test]
    fn rise_that_goes_on_is_limited_by_the_agents() {
        let mut measured = rows(&[(1, 476.0), (2, 951.0), (3, 1420.0)]);
        let scaling = Scaling::new(measured.clone());
        assert_eq!(scaling.limit, RiseLimit::Agents);
        assert_eq!(
            scaling.statement,
            "throughput still rises with 3 agents: 1.42k/s against 476/s with 1 (2.98 times); the \
             agents, or the load that each of them offers, are still the limit"
        );
        full_client(&mut measured[2]);
        let text = Scaling::new(measured.clone()).statement;
        assert!(
            text.ends_with("still the limit: the client: worker (agent a: full)"),
            "{text}"
        );
        measured[2].verdict = Verdict::Undetermined;
        measured[2].limits = shown(RuleId::ServerThread, "monitor db: full");
        let scaling = Scaling::new(measured);
        assert_eq!(scaling.limit, RiseLimit::Server);
        let why = "a limit is near nevertheless: the server: its thread (monitor db: full)";
        assert!(scaling.statement.ends_with(why), "{}", scaling.statement);
    }

    #[test]
    fn runs_that_do_not_count_are_left_out_and_one_shows_no_rise() {
        let mut measured = rows(&[(1, 476.0), (2, 951.0), (3, 955.0)]);
        measured[2].verdict = Verdict::Invalid;
        let text = Scaling::new(measured.clone()).statement;
        let left_out = "; the run with 3 cannot be trusted and is left out";
        assert!(
            text.starts_with("throughput still rises with 2 agents: 951/s")
                && text.ends_with(left_out),
            "{text}"
        );
        measured.remove(1);
        let scaling = Scaling::new(measured);
        assert_eq!(scaling.limit, RiseLimit::Unknown);
        assert_eq!(
            scaling.statement,
            format!("fewer than two runs count: no rise is seen{left_out}")
        );
    }

    #[test]
    fn contradicting_limits_are_both_told() {
        let mut measured = rows(&[(1, 476.0), (2, 480.0)]);
        measured[1].limits = shown(RuleId::AcceptQueue, "monitor db: full");
        let link = shown(RuleId::Link, "agent a: full");
        measured[1].limits.extend(link);
        let scaling = Scaling::new(measured);
        assert_eq!(scaling.limit, RiseLimit::Unknown);
        let why = "ended by the server or the network, which contradict each other: accept queue \
                   (monitor db: full), link (agent a: full), with 2 agents";
        assert!(scaling.statement.ends_with(why), "{}", scaling.statement);
    }
}
