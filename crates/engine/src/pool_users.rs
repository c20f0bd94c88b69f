//! The users of a worker whose journeys share its connections: who is free, and who makes which
//! journey.

use crate::arrival::WaitingArrival;
use plan::Seats;
use std::collections::{HashMap, VecDeque};

/// Users, by their places from 0.
#[derive(Debug)]
pub(crate) struct PoolUsers {
    users: Seats,
    /// Users with places from here on have made no journey yet.
    fresh_from: u32,
    /// Others who make none, in the order in which they ended theirs.
    free: VecDeque<u32>,
    /// By the number of a journey under way, which its operations have as theirs.
    makers: HashMap<u64, PoolUser>,
    /// Arrivals that wait for a user.
    waiting: VecDeque<WaitingArrival>,
    /// By the place of a user: connections in a row that were of no use. Others had none.
    failures: HashMap<u32, u32>,
}

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolUser {
    /// Its place in the worker.
    pub(crate) place: u32,
    /// Its number in the cluster.
    pub(crate) number: u64,
}

impl PoolUsers {
    pub(crate) fn new(users: Seats) -> PoolUsers {
        PoolUsers {
            users,
            fresh_from: 0,
            free: VecDeque::new(),
            makers: HashMap::new(),
            waiting: VecDeque::new(),
            failures: HashMap::new(),
        }
    }

    /// Takes the next user for a journey that has arrived: one who has made none yet, or else the
    /// one whose last journey ended first. `None` if all are under way.
    pub(crate) fn take(&mut self, journey: u64) -> Option<PoolUser> {
        let place = match self.users.nth(self.fresh_from) {
            Some(_) => {
                self.fresh_from += 1;
                self.fresh_from - 1
            }
            None => self.free.pop_front()?,
        };
        self.begin(journey, place)
    }

    /// Notes that the user at `place` makes a journey; `None` if there is no such user.
    pub(crate) fn begin(&mut self, journey: u64, place: u32) -> Option<PoolUser> {
        let number = u64::from(self.users.nth(place)?);
        let user = PoolUser { place, number };
        self.makers.insert(journey, user);
        Some(user)
    }

    /// The user who makes a journey that is under way.
    pub(crate) fn maker(&self, journey: u64) -> Option<PoolUser> {
        self.makers.get(&journey).copied()
    }

    /// The journey has ended.
    pub(crate) fn end(&mut self, journey: u64) -> Option<PoolUser> {
        self.makers.remove(&journey)
    }

    /// The journey, which had arrived, has ended: its user is free. Returns the arrival that has
    /// waited longest for one.
    pub(crate) fn leave(&mut self, journey: u64) -> Option<WaitingArrival> {
        let user = self.end(journey)?;
        self.free.push_back(user.place);
        self.waiting.pop_front()
    }

    /// How many connections in a row were of no use to the user at `place`.
    pub(crate) fn failures(&self, place: u32) -> u32 {
        self.failures.get(&place).copied().unwrap_or(0)
    }

    /// The latest connection of the user at `place` was of no use, and so were those before:
    /// `failures` in a row.
    pub(crate) fn set_failures(&mut self, place: u32, failures: u32) {
        self.failures.insert(place, failures);
    }

    /// A step of the user at `place` has ended, whether or not its connection was of use.
    pub(crate) fn forget_failures(&mut self, place: u32) {
        if !self.failures.is_empty() {
            self.failures.remove(&place);
        }
    }

    /// Lets an arrival wait for a user.
    pub(crate) fn wait(&mut self, arrival: WaitingArrival) {
        self.waiting.push_back(arrival);
    }

    /// Arrivals that wait for a user.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes out the arrivals that wait for a user.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<WaitingArrival> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Arrival;
    use measure::Period;
    use plan::{NoFiles, Owner, Plan};

    fn three_users() -> PoolUsers {
        let text = "target.url = \"http://127.0.0.1/\"\nrequest = [{ name = \"a\" }]\njourney = { \
                    steps = [\"a\"], connection = \"shared\" }\nload = { rate = \"1/s\", duration \
                    = \"1s\", users = 6, max_connections = 4 }";
        let plan = Plan::parse(text, &mut NoFiles).expect("a plan");
        let second = Owner {
            agent: 1,
            agents: 2,
            ..Owner::ALONE
        };
        let users = Seats::sharing(plan.load(), second).expect("its journeys share connections");
        PoolUsers::new(users)
    }

    #[test]
    fn users_take_turns_and_each_has_one_journey_at_a_time() {
        let mut users = three_users();
        let mut number = |journey| users.take(journey).map(|user| user.number);
        let first = [7, 8, 9].map(|journey| number(journey).expect("a user who made none yet"));
        let different: std::collections::BTreeSet<u64> = first.into_iter().collect();
        assert!(
            different.len() == 3 && first.iter().all(|&user| user < 6),
            "{first:?}"
        );
        assert_eq!(number(10), None, "all of them are under way");
        for journey in [8, 7] {
            assert_eq!(users.leave(journey), None);
        }
        let next = [10, 11].map(|journey| users.take(journey).map(|user| user.number));
        assert_eq!(
            next,
            [Some(first[1]), Some(first[0])],
            "the first to end is the first to begin"
        );
        assert_eq!(users.maker(9).map(|user| user.number), Some(first[2]));
        assert_eq!(users.maker(7), None, "it has ended");
    }

    #[test]
    fn arrivals_wait_for_a_user_in_turn() {
        let mut users = three_users();
        (0..3).for_each(|journey| assert!(users.take(journey).is_some()));
        for seq in [3, 4] {
            users.wait(WaitingArrival {
                arrival: Arrival {
                    seq,
                    intended_at: 0,
                    period: Period::Measured,
                },
                noticed_at: 0,
            });
        }
        let freed = [0, 1, 2].map(|journey| users.leave(journey).map(|next| next.arrival.seq));
        assert_eq!(freed, [Some(3), Some(4), None]);
        assert_eq!(users.leave(0), None, "a journey ends once");
    }
}
