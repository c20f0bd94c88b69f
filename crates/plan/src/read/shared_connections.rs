//! Journeys that share connections: what goes together with that, and the users who make them.

use crate::read::context::Context;
use crate::read::section::PlanSection;
use crate::{Journey, JourneyConnection, Load, Shape};

/// Reports journeys of which only some share connections, or that have one of `streams` streams to
/// themselves.
pub(crate) fn check(root: &PlanSection<'_>, journeys: &[Journey], streams: u32) {
    let shared = |journey: &&Journey| journey.connection == JourneyConnection::Shared;
    let number = journeys.iter().filter(shared).count();
    if number == 0 && streams > 1 {
        root.problem_at(
            "connection",
            format_args!(
                "carries {streams} requests at once, and a journey has a connection to itself; \
                 write streams = 1, or journey.connection = \"shared\""
            ),
        );
    }
    if number > 0
        && let Some(other) = journeys.iter().find(|journey| !shared(journey))
    {
        root.problem_at(
            "journey",
            format_args!(
                "has connection = \"shared\" for some journeys and not for {:?}; write it for all \
                 of them, or for none",
                other.name
            ),
        );
    }
}

/// Whether they share connections.
pub(crate) fn are_shared(journeys: &[Journey]) -> bool {
    let first = journeys.first();
    first.is_some_and(|journey| journey.connection == JourneyConnection::Shared)
}

/// Reports virtual users under the key that is for others.
pub(crate) fn check_users_key(section: &PlanSection<'_>, are_shared: bool) {
    if are_shared {
        section.refuse(
            &["connections"],
            "are virtual users with a connection each, and these journeys share connections; write \
             users, and load.max_connections for what they share",
        );
    } else if let Some(users) = section.field("users") {
        let cure = match section.has("connections") {
            true => "remove it",
            false => "write connections",
        };
        users.problem(format_args!(
            "share connections, and this plan has no journeys that do; {cure}, or write \
             journey.connection = \"shared\"",
        ));
    }
}

/// Notes that pauses alone keep more journeys under way than an open loop has room for: users if
/// they share connections, or else connections.
pub(crate) fn note_at_once(context: &Context<'_>, journeys: &[Journey], load: &Load) {
    let (key, most) = match load.shape {
        Shape::Closed { .. } => return,
        Shape::Open {
            users: Some(users), ..
        } => ("users", users),
        Shape::Open {
            max_connections, ..
        } => ("max_connections", max_connections),
    };
    let pauses = Journey::mean_of(journeys, load, Journey::mean_pauses).unwrap_or(0.0);
    let peak = load.peak_rate().map_or(0.0, |rate| rate.as_per_second());
    let at_once = peak * pauses;
    if at_once > f64::from(most) {
        context.note(format!(
            "load.{key} = {most} makes journeys wait: each pauses for \
             {pauses:.1} s on average, which keeps {at_once:.0} of them under way at {peak}/s"
        ));
    }
}
