//! Checks that an agent's share of a plan stays below the agent's own ceilings.

use crate::placement::Placement;
use crate::policy::Policy;
use crate::prepare_error::PrepareError;
use crate::source::Timeline;
use plan::{Plan, Rate, Share};
use std::time::Duration;

/// Rejects a plan if this agent's share exceeds one of the agent's ceilings, or has no bound where
/// the agent has a ceiling.
pub(crate) fn check(
    plan: &Plan,
    placement: &Placement,
    policy: &Policy,
) -> Result<(), PrepareError> {
    let share = plan.share_of(&placement.agent().into());
    check_shares(plan, &[share], placement, policy)?;
    check_duration(plan, policy)
}

/// Rejects shares of `plan` that together exceed one of the agent's ceilings.
pub(crate) fn check_shares(
    plan: &Plan,
    shares: &[Share],
    placement: &Placement,
    policy: &Policy,
) -> Result<(), PrepareError> {
    check_rate(plan, shares, placement, policy)?;
    check_connections(plan, shares, policy)
}

/// A journey counts with all the requests that it can send, a request with the redirects that it
/// may follow, and a WebSocket with its messages: the ceiling is one of requests.
fn check_rate(
    plan: &Plan,
    shares: &[Share],
    placement: &Placement,
    policy: &Policy,
) -> Result<(), PrepareError> {
    let Some(ceiling) = policy.max_rate else {
        return Ok(());
    };
    // The rate of a log is a mean over a part of it, and its connections are not divided.
    let rates = shares.iter().map(|share| match share.peak_second {
        Some(requests) => Rate::per_second(requests as f64),
        None => share.peak_rate,
    });
    let Some(rates) = rates.collect::<Option<Vec<Rate>>>() else {
        return Err(PrepareError::NoRate {
            ceiling,
            agents: placement.agents,
        });
    };
    let sum: f64 = rates.into_iter().map(Rate::as_per_second).sum();
    let asked = Rate::per_second(sum * plan.most_requests_per_unit());
    if asked.is_some_and(|asked| asked <= ceiling) {
        return Ok(());
    }
    let asked = asked.map_or_else(|| "no fixed rate of messages".into(), |it| it.to_string());
    above("load.rate", asked, ceiling.to_string(), "--max-rate")
}

fn check_connections(plan: &Plan, shares: &[Share], policy: &Policy) -> Result<(), PrepareError> {
    // The connection limit, or virtual users with a connection each.
    let each = shares.iter().filter_map(Share::most_connections);
    let connections = each.fold(0, u32::saturating_add);
    // Each of them can have one to every origin.
    let connections = connections.saturating_mul(plan.target().destinations().count() as u32);
    let Some(ceiling) = policy
        .max_connections
        .filter(|&ceiling| connections > ceiling)
    else {
        return Ok(());
    };
    let field = shares.first().map_or("load", Share::connections_field);
    above(
        field,
        connections.to_string(),
        ceiling.to_string(),
        "--max-connections",
    )
}

fn check_duration(plan: &Plan, policy: &Policy) -> Result<(), PrepareError> {
    // `u64::MAX` if the number of requests ends the run, however long that takes.
    let longest = Timeline::new(plan).end_at;
    let Some(ceiling) = policy
        .max_duration
        .filter(|ceiling| u128::from(longest) > ceiling.as_nanos())
    else {
        return Ok(());
    };
    let no_end = longest == u64::MAX;
    let asked = if no_end {
        "no fixed duration".into()
    } else {
        format!("{:?}", Duration::from_nanos(longest))
    };
    above(
        "load.duration",
        asked,
        format!("{ceiling:?}"),
        "--max-duration",
    )
}

fn above(
    field: &'static str,
    asked: String,
    ceiling: String,
    flag: &'static str,
) -> Result<(), PrepareError> {
    Err(PrepareError::AboveCeiling {
        field,
        asked,
        ceiling,
        flag,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::NoFiles;

    fn policy(bound: impl FnOnce(&mut Policy)) -> Policy {
        let mut policy = Policy::default();
        bound(&mut policy);
        policy
    }

    /// Returns why agent 0 of `agents` under `policy` rejects such a load; `None` if it accepts it.
    fn refusal(load: &str, agents: u32, policy: &Policy) -> Option<String> {
        refusal_of(&format!("load = {{ {load} }}"), agents, policy)
    }

    /// The same for a plan with these sections.
    fn refusal_of(sections: &str, agents: u32, policy: &Policy) -> Option<String> {
        let text = format!("target.url = \"http://127.0.0.1:1/\"\n{sections}");
        let plan = Plan::parse(&text, &mut NoFiles).unwrap();
        let placement = Placement {
            agent: 0,
            agents,
            cpus: vec![None],
        };
        check(&plan, &placement, policy)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn rate_above_the_ceiling_is_refused_wherever_it_is_reached() {
        let policy = policy(|policy| policy.max_rate = "100/s".parse().ok());
        for (load, agents, refused) in [
            ("rate = \"100/s\", duration = \"1s\"", 1, false),
            ("rate = \"101/s\", duration = \"1s\"", 1, true),
            ("rate = \"300/s\", duration = \"1s\"", 3, false),
            ("rate = \"301/s\", duration = \"1s\"", 3, true),
            (
                "rate = \"1/s\", stage = [{ over = \"1s\", to = \"150/s\" }, { over = \"1s\", to \
                 = \"1/s\" }]",
                1,
                true,
            ),
        ] {
            assert_eq!(refusal(load, agents, &policy).is_some(), refused, "{load}");
        }
        let message = refusal("rate = \"301/s\", duration = \"1s\"", 3, &policy).unwrap();
        assert!(
            message.contains("share of 100.33333333333333/s is above its own ceiling of 100/s"),
            "{message}"
        );
    }

    #[test]
    fn journeys_count_with_their_requests() {
        let policy = policy(|policy| policy.max_rate = "100/s".parse().ok());
        let journey = "request = [{ name = \"a\" }]\njourney = [{ steps = [\"a\", \"a\", \"a\"] }]";
        for (rate, refused) in [(33, false), (34, true)] {
            let load = format!("load = {{ rate = \"{rate}/s\", duration = \"1s\" }}\n{journey}");
            assert_eq!(refusal_of(&load, 1, &policy).is_some(), refused, "{rate}");
        }
    }

    #[test]
    fn websockets_count_with_their_messages() {
        let policy = policy(|policy| policy.max_rate = "100/s".parse().ok());
        let load = "load = { rate = \"2/s\", duration = \"1s\" }";
        for (socket, refused) in [
            ("message = \"m\", count = 49", false),
            ("message = \"m\", count = 50", true),
            ("message = \"m\", every = \"1s\", hold = \"49s\"", false),
            ("message = \"m\", every = \"1s\", hold = \"50s\"", true),
            ("message = \"m\", hold = \"1ms\"", true),
            ("hold = \"60s\"", false),
        ] {
            let sections = format!("{load}\nrequest.websocket = {{ {socket} }}");
            assert_eq!(
                refusal_of(&sections, 1, &policy).is_some(),
                refused,
                "{socket}"
            );
        }
    }

    #[test]
    fn closed_loop_is_refused_where_the_rate_is_bounded_and_told_what_to_write() {
        let policy = policy(|policy| policy.max_rate = "100/s".parse().ok());
        let message = refusal("connections = 2, duration = \"1s\"", 3, &policy)
            .expect("nothing bounds its rate");
        assert!(
            message.contains("--max-rate 100/s") && message.contains("load.rate = \"300/s\""),
            "{message}"
        );
        assert_eq!(
            refusal("connections = 2, duration = \"1s\"", 1, &Policy::default()),
            None
        );
    }

    #[test]
    fn connections_and_duration_are_bounded_in_both_loops() {
        let policy = policy(|policy| {
            (policy.max_connections, policy.max_duration) = (Some(5), Some(Duration::from_secs(2)))
        });
        for (load, part) in [
            (
                "connections = 6, duration = \"1s\"",
                Some("load.connections"),
            ),
            ("connections = 5, duration = \"1s\"", None),
            (
                "connections = 1, stage = [{ over = \"1s\", to = 6 }]",
                Some("load.connections"),
            ),
            (
                "rate = \"9/s\", max_connections = 6, duration = \"1s\"",
                Some("load.max_connections"),
            ),
            (
                "rate = \"9/s\", max_connections = 5, duration = \"3s\"",
                Some("load.duration"),
            ),
            (
                "rate = \"9/s\", max_connections = 5, requests = 1",
                Some("no fixed duration"),
            ),
        ] {
            let message = refusal(load, 1, &policy);
            assert_eq!(message.is_some(), part.is_some(), "{load}: {message:?}");
            assert!(
                message.is_none_or(|message| message.contains(part.unwrap())),
                "{load}"
            );
        }
    }
}
