//! Journeys: requests that one visitor makes one after the other.

use crate::{CapturePlaceholder, Load, Request, quote};
use crate::{duration, toml_text::array};
use std::fmt::Write as _;
use std::time::Duration;

/// Most requests and pauses of one journey, repeated ones as often as they are.
pub(crate) const MAX_STEPS: u64 = 1_000_000;

/// What a load is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUnit {
    /// Requests, each by itself.
    Request,
    /// Journeys, each of several requests.
    Journey,
}

impl WorkUnit {
    /// The key of their number in `[load]`, which is their name in the plural.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            WorkUnit::Request => "requests",
            WorkUnit::Journey => "journeys",
        }
    }

    /// What messages call it, in the plural.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            WorkUnit::Request => "operations",
            WorkUnit::Journey => "journeys",
        }
    }
}

/// A journey of the plan. The unit of load of a plan with journeys is a journey, not a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Journey {
    /// Name in every result; unique in a plan.
    pub name: String,
    /// Share of all journeys, or of the time of virtual users if each journey has its own: weight
    /// over the sum of weights.
    pub weight: u32,
    /// Which connections its requests go over.
    pub connection: JourneyConnection,
    /// Whether it keeps cookies and sends them, as a browser does.
    pub cookies: JourneyCookies,
    /// What is done, in order. It begins with a step.
    pub course: Vec<JourneyPart>,
    /// By the number of a step: its request, by its place in the plan.
    pub(crate) steps: Vec<u16>,
    /// By the number of a step: its name in results.
    pub(crate) step_names: Vec<String>,
    /// By the number of a group: its name, unique in the journey.
    pub(crate) groups: Vec<String>,
}

/// Which connections a journey's requests go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyConnection {
    /// One that no other journey has until this one has ended. Then the next journey of the same
    /// user takes it over, in an open loop any.
    Kept,
    /// One of its own, which is closed at its end, so that each journey begins with a handshake.
    New,
    /// Each request goes over any that is free, of those that all journeys share.
    Shared,
}

crate::words::words!(JourneyConnection { Kept => "kept", New => "new", Shared => "shared" });

/// Whether a journey keeps cookies, and how long they last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyCookies {
    /// It keeps none.
    Ignored,
    /// Until its end: it begins without any.
    OfJourney,
    /// As long as its user, who has one jar for all journeys of this kind.
    OfUser,
}

impl JourneyCookies {
    /// The word for [`JourneyCookies::OfUser`]; the others are `false` and `true`.
    pub(crate) const USER_WORD: &str = "user";

    fn canonical(self) -> String {
        match self {
            JourneyCookies::Ignored => "false".to_owned(),
            JourneyCookies::OfJourney => "true".to_owned(),
            JourneyCookies::OfUser => quote(JourneyCookies::USER_WORD),
        }
    }
}

/// How often a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepTurns {
    /// Whenever a journey comes to it.
    Each,
    /// Until its request has ended ok once for the user; then all journeys of the user skip it.
    OncePerUser,
}

/// A part of a journey.
#[derive(Debug, Clone, PartialEq)]
pub enum JourneyPart {
    /// Sends a request, and waits for its answer.
    Step {
        /// Its number among the journey's steps, from 0 in the order of the text.
        number: u16,
        /// The request's place in the plan.
        request: u16,
        /// How often it is made.
        turns: StepTurns,
    },
    /// Does nothing for a time.
    Pause(Pause),
    /// Goes through parts several times.
    Repeat {
        /// How often; at least 1.
        times: u32,
        /// The parts.
        parts: Vec<JourneyPart>,
    },
    /// Goes through parts, which have times of their own.
    Group {
        /// Its number among the journey's groups, from 0 in the order of the text.
        number: u16,
        /// The parts.
        parts: Vec<JourneyPart>,
    },
    /// Goes through one of several ways, by weight.
    Pick(Vec<JourneyWay>),
    /// Goes through parts if a captured text is there, or if it is not.
    When {
        /// The text: there if it was captured in this journey, and is not empty.
        captured: CapturePlaceholder,
        /// Whether it has to be there.
        is_there: bool,
        /// The parts.
        parts: Vec<JourneyPart>,
    },
}

/// One of several ways that a journey may take.
#[derive(Debug, Clone, PartialEq)]
pub struct JourneyWay {
    /// Its share: weight over the sum of weights.
    pub weight: u32,
    /// What is done; may be nothing.
    pub parts: Vec<JourneyPart>,
}

/// How long a pause takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Uniformly distributed between two bounds, which may be equal.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Exponentially distributed, with an upper bound: a longer one is drawn as the bound.
    Exponential {
        /// Mean of the distribution without its bound.
        mean: Duration,
        /// The longest.
        most: Duration,
    },
}

impl Journey {
    /// Mean over journeys of a load, if answers take no time; `None` if there are none.
    ///
    /// Journeys with virtual users of their own are as frequent as these and their pauses make
    /// them. If some never pause, their rate depends on the server, and all count by their users.
    pub(crate) fn mean_of(
        journeys: &[Journey],
        load: &Load,
        each: impl Fn(&Journey) -> f64,
    ) -> Option<f64> {
        let by_users = load.journeys_of_users();
        let lengths = journeys
            .iter()
            .map(|it| load.mean_think_s() + it.mean_pauses());
        let lengths: Vec<f64> = lengths.collect();
        let are_known = lengths.iter().all(|length| *length > 0.0);
        let weigh = |(place, journey): (usize, &Journey)| {
            let weight = match by_users.get(place) {
                Some(own) if are_known => own.profile().peak() / lengths[place],
                Some(own) => own.profile().peak(),
                None => f64::from(journey.weight),
            };
            (weight, weight * each(journey))
        };
        let weighed = journeys.iter().enumerate().map(weigh);
        let (weights, sum) = weighed.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        (weights > 0.0).then(|| sum / weights)
    }

    /// Whether users of some journeys never pause, so that their rate is up to the server.
    pub(crate) fn some_never_pause(journeys: &[Journey], load: &Load) -> bool {
        let never = |it: &Journey| load.mean_think_s() + it.mean_pauses() == 0.0;
        !load.journeys_of_users().is_empty() && journeys.iter().any(never)
    }

    /// By the number of a step: the place of its request in the plan.
    #[must_use]
    pub fn steps(&self) -> &[u16] {
        &self.steps
    }

    /// The name of a step in results: that of its request, with a number if it is not the first
    /// step with it.
    #[must_use]
    pub fn step_name(&self, step: usize) -> &str {
        self.step_names.get(step).map_or("", String::as_str)
    }

    /// Names of its groups of steps, by their numbers.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Whether it begins with a step, which a group may have first.
    pub(crate) fn begins_with_step(&self) -> bool {
        begins_with_step(&self.course)
    }

    /// Steps that a journey begins if none fails, every condition holds and its user has made none
    /// before, on average.
    #[must_use]
    pub fn mean_steps(&self) -> f64 {
        mean(&self.course, &|part| match part {
            JourneyPart::Step { .. } => 1.0,
            _ => 0.0,
        })
    }

    /// How often a journey sends the request at this place, under the same conditions.
    #[must_use]
    pub fn mean_uses(&self, request: u16) -> f64 {
        mean(&self.course, &|part| match part {
            JourneyPart::Step { request: own, .. } if *own == request => 1.0,
            _ => 0.0,
        })
    }

    /// New connections that a journey needs whatever the plan says of connections: one if its own
    /// is closed at its end.
    pub(crate) fn new_connections(&self) -> f64 {
        match self.connection {
            JourneyConnection::New => 1.0,
            JourneyConnection::Kept | JourneyConnection::Shared => 0.0,
        }
    }

    /// Seconds that a journey pauses, on average and under the same conditions.
    pub(crate) fn mean_pauses(&self) -> f64 {
        mean(&self.course, &|part| match part {
            JourneyPart::Pause(pause) => pause.mean().as_secs_f64(),
            _ => 0.0,
        })
    }

    /// Most steps that one journey can begin.
    pub(crate) fn most_steps(&self) -> u64 {
        most(&self.course, &|part| {
            matches!(part, JourneyPart::Step { .. })
        })
    }

    /// Fewest steps that one journey begins if none fails: no condition holds, and its user has
    /// made before what is made once.
    pub(crate) fn fewest_steps(&self) -> u64 {
        fewest(&self.course)
    }

    /// Whether it has steps that are made once per user.
    #[must_use]
    pub fn has_steps_made_once(&self) -> bool {
        has(&self.course, &|part| {
            let once = StepTurns::OncePerUser;
            matches!(part, JourneyPart::Step { turns, .. } if *turns == once)
        })
    }

    /// Whether its user remembers anything from one journey to the next.
    #[must_use]
    pub fn remembers(&self) -> bool {
        self.cookies == JourneyCookies::OfUser || self.has_steps_made_once()
    }

    /// The canonical text of its cookies.
    pub(crate) fn canonical_cookies(&self) -> String {
        self.cookies.canonical()
    }

    /// The canonical text of its steps.
    pub(crate) fn canonical_steps(&self, names: &[&str]) -> String {
        let mut text = String::new();
        write_parts(&self.course, (names, &self.groups), &mut text);
        text
    }

    /// Whether it has more requests and pauses than a journey may have.
    pub(crate) fn is_too_long(&self) -> bool {
        most(&self.course, &|_| true) > MAX_STEPS
    }
}

/// Names of steps, given their requests: those of the requests, with a number behind those that
/// stand for a further step.
pub(crate) fn step_names(steps: &[u16], requests: &[Request]) -> Vec<String> {
    let name = |(place, step): (usize, &u16)| {
        let request = requests.get(usize::from(*step));
        let name = request.map_or("", |request| request.name.as_str());
        match steps[..place].iter().filter(|other| *other == step).count() {
            0 => name.to_owned(),
            before => format!("{name} ({})", before + 1),
        }
    };
    steps.iter().enumerate().map(name).collect()
}

/// The mean over all ways of what `each` part is worth.
fn mean(parts: &[JourneyPart], each: &dyn Fn(&JourneyPart) -> f64) -> f64 {
    let of_part = |part: &JourneyPart| match part {
        JourneyPart::Step { .. } | JourneyPart::Pause(_) => each(part),
        JourneyPart::Repeat { times, parts } => f64::from(*times) * mean(parts, each),
        JourneyPart::When { parts, .. } | JourneyPart::Group { parts, .. } => mean(parts, each),
        JourneyPart::Pick(ways) => {
            let sum: f64 = ways.iter().map(|way| f64::from(way.weight)).sum();
            let ways = ways.iter();
            let weighed = ways.map(|way| f64::from(way.weight) / sum * mean(&way.parts, each));
            weighed.sum()
        }
    };
    parts.iter().map(of_part).sum()
}

/// Most steps and pauses that `count` on any way, repeated ones as often as they are.
fn most(parts: &[JourneyPart], count: &dyn Fn(&JourneyPart) -> bool) -> u64 {
    let of_part = |part: &JourneyPart| match part {
        JourneyPart::Step { .. } | JourneyPart::Pause(_) => u64::from(count(part)),
        JourneyPart::Repeat { times, parts } => {
            u64::from(*times).saturating_mul(most(parts, count))
        }
        JourneyPart::When { parts, .. } | JourneyPart::Group { parts, .. } => most(parts, count),
        JourneyPart::Pick(ways) => {
            let ways = ways.iter().map(|way| most(&way.parts, count));
            ways.max().unwrap_or(0)
        }
    };
    parts.iter().map(of_part).fold(0, u64::saturating_add)
}

/// Fewest steps on any way, without those in conditions and those that are made once.
fn fewest(parts: &[JourneyPart]) -> u64 {
    let of_part = |part: &JourneyPart| match part {
        JourneyPart::Step { turns, .. } => u64::from(*turns == StepTurns::Each),
        JourneyPart::Pause(_) | JourneyPart::When { .. } => 0,
        JourneyPart::Group { parts, .. } => fewest(parts),
        JourneyPart::Repeat { times, parts } => u64::from(*times).saturating_mul(fewest(parts)),
        JourneyPart::Pick(ways) => {
            let ways = ways.iter().map(|way| fewest(&way.parts));
            ways.min().unwrap_or(0)
        }
    };
    parts.iter().map(of_part).fold(0, u64::saturating_add)
}

fn begins_with_step(parts: &[JourneyPart]) -> bool {
    match parts.first() {
        Some(JourneyPart::Step { .. }) => true,
        Some(JourneyPart::Group { parts, .. }) => begins_with_step(parts),
        _ => false,
    }
}

/// Whether any step or pause is one that `is` says, on any way.
fn has(parts: &[JourneyPart], is: &dyn Fn(&JourneyPart) -> bool) -> bool {
    most(parts, is) > 0
}

fn write_parts(parts: &[JourneyPart], (names, groups): (&[&str], &[String]), out: &mut String) {
    let part = |part: &JourneyPart| {
        let inner = |parts: &[JourneyPart]| {
            let mut text = String::new();
            write_parts(parts, (names, groups), &mut text);
            text
        };
        match part {
            JourneyPart::Step { request, turns, .. } => {
                let name = names.get(usize::from(*request)).copied();
                let name = quote(name.unwrap_or_default());
                match turns {
                    StepTurns::Each => name,
                    StepTurns::OncePerUser => format!("{{ request = {name}, once = \"user\" }}"),
                }
            }
            JourneyPart::Pause(pause) => format!("{{ pause = {} }}", pause.canonical()),
            JourneyPart::Repeat { times, parts } => {
                format!("{{ repeat = {times}, steps = {} }}", inner(parts))
            }
            JourneyPart::Group { number, parts } => {
                let name = groups.get(usize::from(*number));
                let name = quote(name.map_or("", String::as_str));
                format!("{{ group = {name}, steps = {} }}", inner(parts))
            }
            JourneyPart::Pick(ways) => {
                let way = |way: &JourneyWay| {
                    format!(
                        "{{ weight = {}, steps = {} }}",
                        way.weight,
                        inner(&way.parts)
                    )
                };
                format!("{{ pick = {} }}", array(ways, way))
            }
            JourneyPart::When {
                captured,
                is_there,
                parts,
            } => {
                let key = if *is_there { "if" } else { "unless" };
                let name = quote(&captured.name);
                format!("{{ {key} = {name}, steps = {} }}", inner(parts))
            }
        }
    };
    let _ = write!(out, "{}", array(parts, part));
}

impl Pause {
    /// The mean, not counting that an exponential pause has a bound.
    fn mean(self) -> Duration {
        match self {
            Pause::Uniform { min, max } => (min + max) / 2,
            Pause::Exponential { mean, most } => mean.min(most),
        }
    }

    fn canonical(self) -> String {
        let time = |time| quote(&duration::write(time));
        match self {
            Pause::Uniform { min, max } => {
                format!("{{ min = {}, max = {} }}", time(min), time(max))
            }
            Pause::Exponential { mean, most } => {
                format!("{{ mean = {}, most = {} }}", time(mean), time(most))
            }
        }
    }
}
