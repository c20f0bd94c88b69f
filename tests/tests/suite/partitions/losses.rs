//! Agents that are killed in plans that allow it: the others continue, or take over its share.

use crate::partitions::each;
use crate::partitions::field::{Field, events};
use analysis::{AgentEndCause, Verdict};
use interop::{LinkQuality, Signal, Tried, ensure};
use std::time::{Duration, Instant};

const RATE: u64 = 90;
const SECONDS: u64 = 20;

/// By then the others have a lost share of the rate: the lease, plus a second to announce it.
const DEALT: Duration = Duration::from_secs(7);

#[derive(Debug, Clone, Copy)]
struct Loss {
    lost: &'static str,
    thresholds: &'static str,
    code: i32,
    verdict: Verdict,
}

const LOSSES: [Loss; 4] = [
    Loss {
        lost: "lost = \"continue\", tolerate = 1",
        thresholds: "thresholds.\"errors.share\" = \"<= 0.5\"",
        code: 0,
        verdict: Verdict::Degraded,
    },
    Loss {
        lost: "lost = \"continue\", tolerate = 1",
        thresholds: "thresholds.\"response_time.p50\" = \"<= 1us\"",
        code: 1,
        verdict: Verdict::Degraded,
    },
    Loss {
        lost: "lost = \"continue\", tolerate = 0",
        thresholds: "",
        code: 3,
        verdict: Verdict::Invalid,
    },
    Loss {
        lost: "lost = \"redistribute\"",
        thresholds: "",
        code: 0,
        verdict: Verdict::Degraded,
    },
];

#[test]
fn agent_that_is_killed_costs_what_the_plan_says_it_costs() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    each(
        &LOSSES,
        |loss| format!("{loss:?}"),
        |&loss| one_killed(loss),
    );
}

fn one_killed(loss: Loss) -> Tried {
    let field = Field::new(LinkQuality::default()).unwrap();
    let load = format!("rate = \"{RATE}/s\", max_connections = 12, duration = \"{SECONDS}s\"");
    let fleet = format!(
        "fleet = {{ {}, lease = \"3s\", max_skew = \"1s\" }}\n{}\n",
        loss.lost, loss.thresholds
    );
    let mut run = field.start(3, &field.plan(&load, &fleet));
    let folder = run.invited.coordinator.run_folder();
    field.wait_for_requests(2 * RATE);
    run.agents[1].signal(Signal::KILL);
    let killed_at = Instant::now();
    // A new process of the same name is a different agent, which waits for the next run.
    run.agents.push(field.agent(&run.invited, "agent-1"));
    let late_rate = rate_in_the_end(&field, killed_at);
    let (finished, told) = run.finish();
    let all = || format!("{finished}\n{told}\n{late_rate:.1}/s late");
    let document = finished.clean().document();
    let verdict = document.verdict.verdict;
    // Other programs may have had the CPUs, which takes precedence over a tolerated loss.
    let is_busy = verdict == Verdict::ClientBound && loss.verdict == Verdict::Degraded;
    let is_as_said = finished.code == loss.code && verdict == loss.verdict;
    ensure(
        is_as_said || is_busy && matches!(finished.code, 0 | 1 | 3),
        all,
    )?;
    let is_told = |line: &String| line.contains("agent-1 was lost");
    ensure(document.verdict.evidence.iter().any(is_told), all)?;
    let lost = |agent: &&analysis::AgentResult| agent.ended == Some(AgentEndCause::Lost);
    let lost: Vec<_> = document.agents.iter().filter(lost).collect();
    ensure(lost.len() == 1 && document.agents.len() == 3, all)?;
    let seconds = |agents: u32| {
        let rows = document.series.rows.iter();
        rows.filter(|row| row.agents == agents).count()
    };
    ensure(seconds(3) >= 1 && seconds(2) >= 10, all)?;
    // At most what it sent in two seconds is not stored anywhere.
    let (counted, stored) = (field.requests(), document.measured.operations.ok);
    ensure(
        stored <= counted && counted - stored <= 2 * RATE / 3 + 12,
        || format!("{counted} at the target; {}", all()),
    )?;
    let is_dealt = loss.lost.contains("redistribute");
    let expected = if is_dealt { RATE } else { RATE * 2 / 3 } as f64;
    ensure((late_rate - expected).abs() < RATE as f64 * 0.1, all)?;
    let said = events(&folder);
    ensure(
        is_dealt == said.iter().any(|(word, _)| word == "redistributed"),
        all,
    )
}

/// Requests per second once the loss is known.
fn rate_in_the_end(field: &Field, killed_at: Instant) -> f64 {
    std::thread::sleep(DEALT.saturating_sub(killed_at.elapsed()));
    let (before, from) = (field.requests(), Instant::now());
    std::thread::sleep(Duration::from_secs(4));
    (field.requests() - before) as f64 / from.elapsed().as_secs_f64()
}
