//! The same load per agent with one agent, then two, …: where throughput stops rising.

use crate::{Document, Verdict, human};
use serde::{Deserialize, Serialize};

/// Throughput that rises by less than this share of what the added agents would bring alone, has
/// stopped rising.
const RISES_SHARE: f64 = 0.1;

/// Runs with 1, 2, … agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// By number of agents, ascending.
    pub rows: Vec<ScalingRow>,
    /// The least number of agents after which more bring nothing; absent where throughput still
    /// rose at the end.
    pub stops_at: Option<u32>,
    /// Where throughput stops rising and what limits it, in words.
    pub statement: String,
}

/// A run with so many agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingRow {
    /// Agents that fired.
    pub agents: u32,
    /// Operations ended ok per second.
    pub ok_per_second: f64,
    /// Operations begun per second.
    pub started_per_second: f64,
    /// 99th percentile of the response time.
    pub response_time_p99_ns: Option<u64>,
    /// It is a lower bound.
    pub response_time_p99_at_least: bool,
    /// Share of operations that did not end ok; absent where none ended.
    pub error_share: Option<f64>,
    /// Busiest worker of all agents; absent where it is not known.
    pub busiest_worker_share: Option<f64>,
    /// CPUs that the server's process kept busy; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<f64>,
    /// What the run's numbers are about.
    pub verdict: Verdict,
    /// Where the whole result is: the folder of its run; may be empty.
    pub run: String,
}

impl ScalingRow {
    /// Of a run's document.
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
            run,
        }
    }
}

impl Scaling {
    /// Runs in any order, one for each number of agents.
    #[must_use]
    pub fn new(mut rows: Vec<ScalingRow>) -> Scaling {
        rows.sort_by_key(|row| row.agents);
        let stops_at = stop(&rows).map(|row| row.agents);
        let statement = statement(&rows, stops_at);
        Scaling {
            rows,
            stops_at,
            statement,
        }
    }
}

/// A run that lost agents is not one of so many agents.
fn is_left_out(row: &ScalingRow) -> bool {
    matches!(row.verdict, Verdict::Invalid | Verdict::Degraded)
}

/// The first run that none of the larger ones beat by more than a tenth of what their agents would
/// bring.
fn stop(rows: &[ScalingRow]) -> Option<&ScalingRow> {
    let counts = || rows.iter().filter(|row| !is_left_out(row));
    let mut stops = counts().filter(|row| {
        let mut larger = counts()
            .filter(|larger| larger.agents > row.agents)
            .peekable();
        larger.peek().is_some() && !larger.any(|larger| is_beaten(row, larger))
    });
    stops.next()
}

/// Whether `larger` brings more than a tenth of what its added agents would bring alone.
fn is_beaten(row: &ScalingRow, larger: &ScalingRow) -> bool {
    let each = row.ok_per_second / f64::from(row.agents.max(1));
    let added = f64::from(larger.agents - row.agents);
    larger.ok_per_second - row.ok_per_second > RISES_SHARE * each * added
}

fn statement(rows: &[ScalingRow], stops_at: Option<u32>) -> String {
    let (Some(most), Some(first)) = (rows.last(), rows.first()) else {
        return "no run was made".to_owned();
    };
    let rate = |row: &ScalingRow| format!("{}/s", human::number(row.ok_per_second));
    let invalid: Vec<String> = rows
        .iter()
        .filter(|row| is_left_out(row))
        .map(|row| row.agents.to_string())
        .collect();
    let left_out = if invalid.is_empty() {
        String::new()
    } else {
        format!(
            "; the run with {} cannot be trusted and is left out",
            invalid.join(" and ")
        )
    };
    let Some(stop) = rows.iter().find(|row| Some(row.agents) == stops_at) else {
        let times = human::number(most.ok_per_second / first.ok_per_second.max(f64::MIN_POSITIVE));
        return format!(
            "throughput still rises with {}: {} against {} with {} ({times} times); what limits \
             it is not reached{left_out}",
            agents(most.agents),
            rate(most),
            rate(first),
            first.agents
        );
    };
    let idle = match stop.busiest_worker_share {
        Some(busy) if stop.verdict != Verdict::ClientBound => {
            format!(
                "; the busiest worker was {} busy, so the limit is beyond the clients",
                human::share(busy)
            )
        }
        Some(busy) => format!(
            "; the busiest worker was {} busy, so the clients may be the limit",
            human::share(busy)
        ),
        None => String::new(),
    };
    format!(
        "throughput stops rising at {}, with {}: {} brought {}{idle}{left_out}",
        agents(stop.agents),
        rate(stop),
        agents(most.agents),
        rate(most)
    )
}

fn agents(number: u32) -> String {
    format!("{number} agent{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn statement_says_where_and_why() {
        let mut measured = rows(&[(1, 476.0), (2, 951.0), (3, 955.0)]);
        let text = Scaling::new(measured.clone()).statement;
        assert_eq!(
            text,
            "throughput stops rising at 2 agents, with 951/s: 3 agents brought 955/s; the busiest \
             worker was 50.0 % busy, so the limit is beyond the clients"
        );
        measured[2].verdict = Verdict::Invalid;
        let text = Scaling::new(measured).statement;
        assert!(
            text.contains("still rises")
                && text.ends_with("the run with 3 cannot be trusted and is left out"),
            "{text}"
        );
    }
}
