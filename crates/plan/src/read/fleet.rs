//! Reads `[fleet]`.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{End, FleetPlan, Load, LostAgents, Shape, Tls, Tolerance};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Beats come every second, so a lease of 2 s tolerates one late beat. With a lease above 120 s, an
/// agent that has become unreachable would fire for minutes.
const LEASES: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(120);
/// No clock estimate over a network is better than the lower bound. With the upper bound, agents'
/// seconds would no longer match each other.
const SKEWS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);
const JOIN_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
const MAX_AGENTS: u32 = 1_000_000;

/// Paths of `[fleet]`.
pub(crate) const KEYS: &[&str] = &[
    "fleet.lost",
    "fleet.tolerate",
    "fleet.join_timeout",
    "fleet.lease",
    "fleet.max_skew",
];

/// Reads the section; wrong values are reported and replaced by their defaults. `load` and `tls`
/// are `None` if they are wrong or missing.
pub(crate) fn read(section: PlanSection<'_>, load: Option<&Load>, tls: Option<&Tls>) -> FleetPlan {
    let default = FleetPlan::default();
    let lost = section.read("lost", |field| field.choice());
    let tolerate = section.read("tolerate", |field| tolerance(&field));
    // With an unknown word for `lost`, nothing can be said about the fields beside it.
    if lost.is_some() || !section.has("lost") {
        check_tolerate(&section, lost.unwrap_or(default.lost), tolerate);
    }
    let lost = lost.unwrap_or(default.lost);
    check_redistribute(&section, lost, load);
    check_identities(&section, lost, tls);
    let fleet = FleetPlan {
        lost,
        tolerate: tolerate.unwrap_or(lost.default_tolerance()),
        join_timeout: section.read("join_timeout", |field| field.duration(JOIN_TIMEOUTS)),
        lease: section
            .read("lease", |field| field.duration(LEASES))
            .unwrap_or(default.lease),
        max_skew: section
            .read("max_skew", |field| field.duration(SKEWS))
            .unwrap_or(default.max_skew),
    };
    section.finish();
    fleet
}

fn tolerance(field: &Field<'_>) -> Option<Tolerance> {
    match field.node.value {
        NodeValue::Whole(_) => field.whole32(0..=MAX_AGENTS).map(Tolerance::Agents),
        NodeValue::Text(_) => field.parse("a share such as \"1%\""),
        _ => {
            let example = "a number such as 2, or a share such as \"1%\"";
            field.wrong_type("a number of agents or a share of them", example);
            None
        }
    }
}

fn check_tolerate(section: &PlanSection<'_>, lost: LostAgents, tolerate: Option<Tolerance>) {
    let is_some = tolerate.is_some_and(|tolerate| tolerate != Tolerance::NONE);
    if lost == LostAgents::Fail && is_some {
        let cure = "allows agents to be lost, and lost = \"fail\" allows none; write lost = \
                    \"continue\" or \"redistribute\", or remove it";
        section.problem_at("tolerate", cure);
    }
}

/// Keys go only to agents whose virtual users have them, and no agent gets those of another.
fn check_identities(section: &PlanSection<'_>, lost: LostAgents, tls: Option<&Tls>) {
    let has_identities = tls.is_some_and(|tls| tls.client_certificates.number() > 0);
    if lost == LostAgents::Redistribute && has_identities {
        let cure = "\"redistribute\" has no answer for tls.client_certificates: other agents do \
                    not have the keys of a lost agent's virtual users; write \"continue\", or \
                    remove tls.client_certificates";
        section.problem_at("lost", cure);
    }
}

/// Virtual users who take operations from a common number cannot be dealt again exactly once.
fn check_redistribute(section: &PlanSection<'_>, lost: LostAgents, load: Option<&Load>) {
    let Some(load) = load else { return };
    let is_closed = matches!(load.shape, Shape::Closed { .. });
    let is_counted = matches!(load.end, End::Requests(_));
    if lost == LostAgents::Redistribute && is_closed && is_counted {
        let key = load.shape.users_key();
        let cure = format!(
            "\"redistribute\" has no answer for load.requests of virtual users: how many requests \
             a lost agent sent after its last stored second is not known, so the rest cannot be \
             dealt exactly once; write load.duration in place of load.requests, or a load.rate in \
             place of load.{key}"
        );
        section.problem_at("lost", cure);
    }
}
