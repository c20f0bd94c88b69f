//! What is done in the place of a user or an arrival, operation by operation: which request comes
//! first, and what follows an operation that has ended. Knows nothing of connections or time.

use crate::random::Random;
use measure::nanoseconds;
use plan::{Mix, Plan, RecordedArrivals, ReplayConnections, Shape, ThinkTime};
use std::sync::Arc;

/// The plan's script. It is the same for all users and arrivals.
pub(crate) struct Script {
    choice: RequestChoice,
    course: Course,
    /// What virtual users who share connections do after a journey; `None` if there are none.
    sharing: Option<SharingUsers>,
}

/// Virtual users who share connections, and the pause that each makes between two journeys.
struct SharingUsers(Option<ThinkTime>);

/// Which request an operation sends.
enum RequestChoice {
    /// One after the other, by their weights.
    Mixed(Mix),
    /// The one for the method of its entry in a log.
    Recorded {
        arrivals: Arc<RecordedArrivals>,
        /// By the log's number of a method: the place of its request in the plan.
        places: Vec<u16>,
    },
}

/// Who goes through the script.
enum Course {
    /// A slot makes one operation, of an arrival or of a user who shares connections, and is then
    /// free for any other.
    Once,
    /// An arrival goes through it once, on the connection that its log has it on.
    RecordedArrivals,
    /// A user begins anew whenever it is through, after a pause if it makes any.
    Users(Option<ThinkTime>),
}

/// What follows an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// The user's next operation, at once.
    Begin,
    /// The user's next operation, after a pause in nanoseconds.
    BeginAfter(u64),
    /// Nothing: another arrival may take its place.
    Done,
    /// Whatever is due on the same connection of the log.
    OfConnection,
}

impl Script {
    pub(crate) fn new(plan: &Plan) -> Script {
        Script {
            choice: RequestChoice::new(plan),
            course: match &plan.load().shape {
                Shape::Open { .. } => match plan.replay().map(|replay| replay.connections) {
                    Some(ReplayConnections::Recorded) => Course::RecordedArrivals,
                    Some(ReplayConnections::Pooled) | None => Course::Once,
                },
                Shape::Closed {
                    max_connections: None,
                    think_time,
                    ..
                } => Course::Users(*think_time),
                Shape::Closed { .. } => Course::Once,
            },
            sharing: match plan.load().shape {
                Shape::Closed {
                    max_connections: Some(_),
                    think_time,
                    ..
                } => Some(SharingUsers(think_time)),
                Shape::Closed { .. } | Shape::Open { .. } => None,
            },
        }
    }

    /// The request that operation `seq` of the cluster sends, by its place in the plan.
    #[inline]
    pub(crate) fn first(&self, seq: u64) -> u16 {
        match &self.choice {
            RequestChoice::Mixed(mix) => mix.at(seq),
            RequestChoice::Recorded { arrivals, places } => {
                let method = arrivals.log().method(arrivals.entry(seq));
                places[usize::from(method)]
            }
        }
    }

    /// What follows an operation that has ended. Draws from `random` only if a pause follows.
    #[inline]
    pub(crate) fn after(&self, random: &mut Random) -> NextStep {
        match self.course {
            Course::Once => NextStep::Done,
            Course::RecordedArrivals => NextStep::OfConnection,
            Course::Users(None) => NextStep::Begin,
            Course::Users(Some(pause)) => NextStep::BeginAfter(draw(pause, random)),
        }
    }

    /// Whether virtual users share connections.
    pub(crate) fn has_sharing_users(&self) -> bool {
        self.sharing.is_some()
    }

    /// How long a user who shares connections pauses after a journey, in nanoseconds; `None` if an
    /// arrival makes the next one.
    pub(crate) fn pause_of_sharing(&self, random: &mut Random) -> Option<u64> {
        let SharingUsers(pause) = self.sharing.as_ref()?;
        Some(pause.map_or(0, |pause| draw(pause, random)))
    }
}

fn draw(pause: ThinkTime, random: &mut Random) -> u64 {
    random.between(nanoseconds(pause.min), nanoseconds(pause.max))
}

impl RequestChoice {
    fn new(plan: &Plan) -> RequestChoice {
        let requests = plan.requests().iter();
        let Some(replay) = plan.replay() else {
            let weights: Vec<u32> = requests.map(|request| request.weight).collect();
            return RequestChoice::Mixed(Mix::new(&weights, plan.load().seed));
        };
        let of_method = |method: &String| {
            let mut requests = plan.requests().iter();
            let place = requests.position(|request| request.method == **method);
            place.unwrap_or(0) as u16 // this method is outside the part that is sent
        };
        let log = replay.arrivals.log();
        RequestChoice::Recorded {
            places: log.methods().iter().map(of_method).collect(),
            arrivals: Arc::clone(&replay.arrivals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::NoFiles;

    fn after(load: &str) -> Vec<NextStep> {
        let text = format!("[target]\nurl = \"http://127.0.0.1/\"\n[load]\n{load}\n");
        let plan = Plan::parse(&text, &mut NoFiles).expect("a plan");
        let (script, mut random) = (Script::new(&plan), Random::new(1, 1));
        let drawn = (0..20).map(|_| script.after(&mut random)).collect();
        assert_eq!(
            random.bits() == Random::new(1, 1).bits(),
            !load.contains("think_time"),
            "draws for pauses only: {load}"
        );
        drawn
    }

    #[test]
    fn arrivals_are_done_and_users_begin_again() {
        let arrivals = after("rate = \"10/s\"\nmax_connections = 1\nduration = \"1s\"");
        assert_eq!(arrivals, [NextStep::Done; 20]);
        let users = after("connections = 1\nduration = \"1s\"");
        assert_eq!(users, [NextStep::Begin; 20]);
    }

    #[test]
    fn users_who_think_pause_within_their_bounds() {
        let steps = after(
            "connections = 1\nduration = \"1s\"\nthink_time = { min = \"2ms\", max = \"3ms\" }",
        );
        for step in steps {
            let NextStep::BeginAfter(pause) = step else {
                panic!("{step:?} is no pause");
            };
            assert!((2_000_000..=3_000_000).contains(&pause), "{pause} ns");
        }
    }
}
