//! Agents on one machine begin at the same instant.

use crate::alone;
use interop::{CoordinatorCommand, Pki, plan};
use target::{Config, RunningTarget};

/// Agents on one machine begin at most this far apart.
const SKEW_MAX_NS: u64 = 2_000_000;

/// The best of this many runs counts: on a busy machine a process waits for its turn for
/// milliseconds.
const TRIES: usize = 12;

#[test]
fn agents_of_one_machine_begin_within_two_milliseconds() {
    let _alone = alone();
    let pki = Pki::new();
    for agents in [2, 4] {
        let target = RunningTarget::new(Config::plain()).unwrap();
        let text = plan(
            &target.url("/"),
            &pki,
            "load = { connections = 4, duration = \"300ms\", think_time = \"10ms\" }\n",
        );
        let skews = std::iter::repeat_with(|| {
            let finished = CoordinatorCommand::local(agents, &text).run().expect(0);
            let skew = finished.document().skew.expect("all of them began");
            println!(
                "{agents} agents began {} µs ± {} µs apart",
                skew.skew_ns / 1000,
                skew.bound_ns / 1000
            );
            skew
        });
        let good = skews
            .take(TRIES)
            .any(|skew| skew.skew_ns < SKEW_MAX_NS && skew.bound_ns < SKEW_MAX_NS);
        assert!(
            good,
            "in {TRIES} tries {agents} agents never began within {SKEW_MAX_NS} ns"
        );
    }
}
