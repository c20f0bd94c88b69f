//! The control link is cut for a while, and comes back.

use crate::partitions::each;
use crate::partitions::field::Field;
use analysis::{AgentEndCause, Verdict};
use interop::{LinkQuality, Tried, ensure};
use std::time::Duration;

/// What happens to a run whose link was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Nothing is missing; there was only a pause.
    Survives,
    /// Agents stopped by themselves; what they had measured is in the result.
    LosesItsLease,
}

struct Cut {
    seconds: u64,
    lease: &'static str,
    agents: u32,
    ending: Ending,
}

/// One of each ending.
const SHORT_CUTS: [Cut; 2] = [
    Cut {
        seconds: 3,
        lease: "5s",
        agents: 2,
        ending: Ending::Survives,
    },
    Cut {
        seconds: 8,
        lease: "5s",
        agents: 1,
        ending: Ending::LosesItsLease,
    },
];

const LONG_CUTS: [Cut; 4] = [
    // TCP retransmits after about 6 and 13 s, which is too late for this lease.
    Cut {
        seconds: 7,
        lease: "10s",
        agents: 1,
        ending: Ending::Survives,
    },
    Cut {
        seconds: 8,
        lease: "30s",
        agents: 2,
        ending: Ending::Survives,
    },
    // Longer than HTTP/2 waits for a sign of life, and than the coordinator waits for an agent that
    // left.
    Cut {
        seconds: 28,
        lease: "60s",
        agents: 2,
        ending: Ending::Survives,
    },
    Cut {
        seconds: 40,
        lease: "5s",
        agents: 2,
        ending: Ending::LosesItsLease,
    },
];

/// Arrivals of the plan: 40 a second for 15 s.
const ARRIVALS: u64 = 600;

#[test]
fn cut_shorter_than_the_lease_is_survived_and_a_longer_one_loses_no_data() {
    play(&SHORT_CUTS);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn long_cuts_end_as_short_ones_do() {
    play(&LONG_CUTS);
}

fn play(cuts: &[Cut]) {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    each(
        cuts,
        |cut| format!("{} s with a lease of {}", cut.seconds, cut.lease),
        cut_in_the_middle,
    );
}

fn cut_in_the_middle(cut: &Cut) -> Tried {
    let field = Field::new(LinkQuality::default()).unwrap();
    let more = format!(
        "fleet = {{ lease = \"{}\", max_skew = \"1s\" }}\n",
        cut.lease
    );
    let load = "rate = \"40/s\", max_connections = 8, duration = \"15s\"";
    let run = field.start(cut.agents, &field.plan(load, &more));
    field.wait_for_requests(80);
    field.cut_for(Duration::from_secs(cut.seconds));
    let (finished, told) = run.finish();
    let document = finished.clean().document();
    let (counted, operations) = (field.requests(), &document.measured.operations);
    // On a busy machine an arrival may find no free connection, and a request may be cut off at the
    // end; the result contains both.
    ensure(operations.started == counted, || {
        format!("the target counted {counted}, {finished}\n{told}")
    })?;
    let is_as_said = match cut.ending {
        Ending::Survives => finished.code == 0 && operations.ended == ARRIVALS,
        Ending::LosesItsLease => {
            let lost_it = |agent: &analysis::AgentResult| {
                agent.ended == Some(AgentEndCause::LeaseExpired) && agent.totals_match == Some(true)
            };
            finished.code == 3
                && counted < ARRIVALS
                && document.verdict.verdict == Verdict::Invalid
                && document.agents.iter().all(lost_it)
        }
    };
    ensure(is_as_said, || format!("{finished}\n{told}"))
}
