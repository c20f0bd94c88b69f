//! Checks what a hello says: what an agent says of itself is shown, saved and passed on.

use crate::{AgentFacts, AgentId, Role, RunId};
use proto::{HeldRun, Hello};

/// Largest host facts that are passed on.
const HOST_MAX_BYTES: usize = 64 << 10;

/// Largest calibration that is passed on.
const CALIBRATION_MAX_BYTES: usize = 16 << 10;

/// Labels of one agent, and bytes of a name, of a label's key and of its value.
const LABELS_MAX: usize = 64;
const NAME_MAX_BYTES: usize = 256;

/// Runs that one agent can hold.
const HELD_MAX: usize = 1_000;

/// Why a hello is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadHello {
    #[error("the hello makes no sense; run the same version on both")]
    Senseless,
    #[error("{what} is {bytes} bytes long; write at most {NAME_MAX_BYTES}")]
    TooLong { what: &'static str, bytes: usize },
    #[error("{what} has control or bidirectional characters in it; leave them out")]
    Unprintable { what: &'static str },
    #[error("the agent has {labels} labels; give it at most {LABELS_MAX} (--label)")]
    TooManyLabels { labels: usize },
}

/// What the agent says of itself, if it is acceptable.
pub(crate) fn facts(hello: Hello) -> Result<AgentFacts, BadHello> {
    let id = AgentId::from_wire(&hello.agent_id).ok_or(BadHello::Senseless)?;
    let is_too_long =
        hello.host.len() > HOST_MAX_BYTES || hello.calibration.len() > CALIBRATION_MAX_BYTES;
    if is_too_long || hello.held_runs.len() > HELD_MAX {
        return Err(BadHello::Senseless);
    }
    check("the agent's name (--name)", &hello.name)?;
    check("the agent's version", &hello.version)?;
    if hello.labels.len() > LABELS_MAX {
        let labels = hello.labels.len();
        return Err(BadHello::TooManyLabels { labels });
    }
    for (key, value) in &hello.labels {
        check("the key of a label (--label)", key)?;
        check("the value of a label (--label)", value)?;
    }
    let role = match hello.role() {
        proto::Role::Agent => Role::Agent,
        proto::Role::Monitor => Role::Monitor,
    };
    Ok(AgentFacts {
        id,
        name: hello.name,
        version: hello.version,
        labels: hello.labels.into_iter().collect(),
        workers: hello.workers,
        host: hello.host,
        role,
        calibration: hello.calibration,
    })
}

/// The runs that the agent holds, as far as they can be parsed, and the latest epoch of each.
pub(crate) fn runs_of(hello: &Hello) -> Vec<(RunId, u64)> {
    let read = |held: &HeldRun| Some((RunId::from_wire(&held.run_id)?, held.epoch));
    hello
        .held_runs
        .iter()
        .take(HELD_MAX)
        .filter_map(read)
        .collect()
}

fn check(what: &'static str, text: &str) -> Result<(), BadHello> {
    if text.len() > NAME_MAX_BYTES {
        let bytes = text.len();
        return Err(BadHello::TooLong { what, bytes });
    }
    if text.chars().any(measure::is_unprintable) {
        return Err(BadHello::Unprintable { what });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Bytes;

    fn hello() -> Hello {
        Hello {
            agent_id: Bytes::from_static(&[1; 16]),
            name: "edge-1".into(),
            ..Hello::default()
        }
    }

    fn labels(count: usize, key: &str, value: &str) -> Hello {
        let label = |nth| (format!("{key}{nth}"), value.to_owned());
        Hello {
            labels: (0..count).map(label).collect(),
            ..hello()
        }
    }

    #[test]
    fn what_is_too_long_or_would_move_a_cursor_is_refused_with_the_reason() {
        let named = |name: String| Hello { name, ..hello() };
        for (hello, reason) in [
            (named("x".repeat(257)), "257 bytes"),
            (named("a\nb".into()), "name (--name) has control or bidi"),
            (
                named("\u{1b}[2J".into()),
                "control or bidirectional characters",
            ),
            (named("edge-\u{202e}1".into()), "bidirectional characters"),
            (labels(65, "k", "v"), "65 labels"),
            (labels(1, &"k".repeat(256), "v"), "key of a label"),
            (labels(1, "k", &"v".repeat(257)), "value of a label"),
            (labels(1, "k", "\u{7f}"), "value of a label"),
            (Hello::default(), "no sense"),
        ] {
            let refused = facts(hello).expect_err(reason).to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn what_is_as_long_as_may_be_is_taken() {
        assert!(facts(labels(64, "k", &"v".repeat(256))).is_ok());
        let name = "ü".repeat(128);
        let facts = facts(Hello {
            name: name.clone(),
            ..hello()
        })
        .unwrap();
        assert_eq!(facts.name, name);
    }
}
