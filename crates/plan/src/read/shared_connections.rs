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
                 write streams = 1, or with load.rate journey.connection = \"shared\""
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

/// Reports a load that has users although journeys share nothing, or whose journeys cannot share.
/// Notes what keeps more of them under way than there is room for.
pub(crate) fn check_load(root: &PlanSection<'_>, journeys: &[Journey], load: &Load) {
    let shares = are_shared(journeys);
    match &load.shape {
        Shape::Closed { .. } if shares => root.problem_at(
            "journey",
            "has connection = \"shared\", and the virtual users of a closed loop have a connection \
             each; write load.rate, load.users and load.max_connections in place of \
             load.connections, or remove it",
        ),
        Shape::Closed { .. } => {}
        Shape::Open { .. } if shares => {}
        Shape::Open { users: Some(_), .. } => root.problem_at(
            "load",
            "has users, who share connections, and this plan has no journeys that do; write \
             journey.connection = \"shared\", or remove users",
        ),
        Shape::Open { users: None, .. } => {}
    }
    note_at_once(root.context, journeys, load);
}

/// Notes that pauses alone keep more journeys under way than an open loop has room for: users if
/// they share connections, or else connections.
fn note_at_once(context: &Context<'_>, journeys: &[Journey], load: &Load) {
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
