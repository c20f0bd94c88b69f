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

/// Whose connections a plan's journeys go over; its requests have their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JourneySharing {
    /// Each user has its own.
    Own,
    /// All users share them.
    Shared,
    /// The journeys are wrong, which was reported.
    Unknown,
}

impl JourneySharing {
    pub(crate) fn new(journeys: Option<&[Journey]>) -> JourneySharing {
        match journeys.map(<[Journey]>::first) {
            None => JourneySharing::Unknown,
            Some(Some(first)) if first.connection == JourneyConnection::Shared => {
                JourneySharing::Shared
            }
            Some(_) => JourneySharing::Own,
        }
    }

    /// The key of virtual users.
    pub(crate) fn users_key(self) -> &'static str {
        match self {
            JourneySharing::Shared => "users",
            JourneySharing::Own | JourneySharing::Unknown => "connections",
        }
    }
}

/// Reports virtual users under the key that is for others.
pub(crate) fn check_users_key(section: &PlanSection<'_>, sharing: JourneySharing) {
    match sharing {
        JourneySharing::Shared => section.refuse(
            &["connections"],
            "are virtual users with a connection each, and these journeys share connections; write \
             users, and load.max_connections for what they share",
        ),
        JourneySharing::Own => refuse_users(
            section,
            match section.has("connections") {
                true => "remove it",
                false => "write connections",
            },
        ),
        JourneySharing::Unknown => {}
    }
}

/// Reports users of journeys that share nothing.
pub(crate) fn refuse_users(section: &PlanSection<'_>, cure: &str) {
    if let Some(users) = section.field("users") {
        users.problem(format_args!(
            "belong to journeys that share connections, and this plan has none; {cure}, or write \
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
