//! `[search]`: the goal of a search, and the single runs that it consists of. Does not know which
//! run comes next.

use crate::{End, Plan, Problem, Rate, Shape, load};
use std::time::Duration;

/// The goal of a file's `[search]`, for each of its runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Search {
    /// The highest load that meets every threshold.
    Capacity(Capacity),
    /// The plan's load for each of several numbers of agents, one number after the other;
    /// ascending, at least two. [`Plan::for_agents`] makes the runs.
    Agents(Vec<u32>),
}

/// A search for the highest load that meets every threshold of the plan, by holds of one amount
/// each.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// The range that is searched.
    pub range: SearchRange,
    /// Length of each hold's measured part.
    pub hold: Duration,
    /// The search ends when the lowest amount that failed exceeds the highest that passed by at
    /// most this share of it.
    pub precision: f64,
    /// Longest wait between two holds for the target to recover.
    pub settle: Duration,
}

/// Bounds of the amount for the whole cluster; `from` is above zero and below `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchRange {
    /// Arrivals per second of an open loop.
    Rate {
        /// The first rate to hold.
        from: Rate,
        /// The highest rate to hold.
        to: Rate,
    },
    /// Virtual users of a closed loop.
    Connections {
        /// The first number to hold.
        from: u32,
        /// The highest number to hold.
        to: u32,
    },
}

impl SearchRange {
    /// First and last amount: arrivals per second, or virtual users.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match *self {
            SearchRange::Rate { from, to } => (from.as_per_second(), to.as_per_second()),
            SearchRange::Connections { from, to } => (f64::from(from), f64::from(to)),
        }
    }
}

impl Capacity {
    /// Returns the run that holds `amount` (arrivals per second, or virtual users, rounded to whole
    /// ones) for [`Capacity::hold`]. Everything else, including the warm-up, comes from `plan`,
    /// which must belong to the campaign that this search is from.
    ///
    /// # Errors
    /// Fails if `plan` has the other kind of loop, or `amount` is not a valid load.
    pub fn plan_at(&self, plan: &Plan, amount: f64) -> Result<Plan, Problem> {
        let mut held = plan.clone();
        let users_key = held.load.shape.users_key();
        match (&mut held.load.shape, self.range) {
            (Shape::Open { rate, .. }, SearchRange::Rate { .. }) => *rate = load::rate(amount)?,
            (Shape::Closed { connections, .. }, SearchRange::Connections { .. }) => {
                *connections = load::users(users_key, amount.round())?
            }
            (Shape::Open { .. }, _) => {
                return Err(other_loop(
                    "load.rate",
                    "search.connections looks for a closed loop",
                ));
            }
            (Shape::Closed { .. }, _) => {
                return Err(other_loop(
                    &format!("load.{users_key}"),
                    "search.rate looks for an open loop",
                ));
            }
        }
        held.load.stages.clear();
        held.load.end = End::Duration(self.hold);
        Ok(held.with_notes_of_its_own())
    }

    /// Returns a short run at the first amount, which shows whether the target has recovered. It
    /// has no warm-up: that would take time in each try, and the median shows as much without it.
    ///
    /// # Errors
    /// Like [`Capacity::plan_at`].
    pub fn plan_of_look(&self, plan: &Plan, length: Duration) -> Result<Plan, Problem> {
        let (from, _) = self.range.ends();
        let mut look = self.plan_at(plan, from)?;
        look.load.shorten(length);
        Ok(look)
    }
}

fn other_loop(path: &str, why: &str) -> Problem {
    Problem {
        path: path.to_owned(),
        place: None,
        message: format!("{why}; search in the plan that the search came with"),
    }
}

impl Plan {
    /// Returns the run of `agents` agents that each carry this plan's whole load: every amount,
    /// bound and number of operations is multiplied, durations remain.
    ///
    /// # Errors
    /// Names the field that exceeds what a plan can ask for, or becomes 0 with no agents.
    pub fn for_agents(&self, agents: u32) -> Result<Plan, Problem> {
        let mut plan = self.clone();
        plan.load.multiply(agents)?;
        Ok(plan.with_notes_of_its_own())
    }

    /// Replaces the notes by those that its canonical text gives. Notes on the search belong to the
    /// campaign; a run's log does not contain them, so a result that is remade from it would lack
    /// them.
    fn with_notes_of_its_own(self) -> Plan {
        match Plan::parse_saved(&self.canonical_text()) {
            Ok(saved) => Plan {
                notes: saved.notes,
                ..self
            },
            Err(_) => self, // the notes of the search are better than none
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Capacity, SearchRange};
    use crate::{Campaign, End, NoFiles, Plan, Profile, Rate};
    use std::time::Duration;

    fn plan(load: &str) -> Plan {
        Plan::parse(
            &format!("target.builtin = true\n[load]\n{load}"),
            &mut NoFiles,
        )
        .unwrap()
    }

    fn rates() -> Capacity {
        let rate = |per_second| Rate::per_second(per_second).unwrap();
        let range = SearchRange::Rate {
            from: rate(100.0),
            to: rate(5000.0),
        };
        Capacity {
            range,
            hold: Duration::from_secs(20),
            precision: 0.03,
            settle: Duration::ZERO,
        }
    }

    fn users() -> Capacity {
        Capacity {
            range: SearchRange::Connections { from: 1, to: 500 },
            ..rates()
        }
    }

    #[test]
    fn a_hold_has_the_amount_and_length_of_the_search_and_the_rest_of_the_plan() {
        let ramp = plan(
            "rate = \"1/s\"\nwarm_up = \"3s\"\nseed = 5\n[[load.stage]]\nover = \"9s\"\nto = \
             \"7/s\"",
        );
        let held = rates().plan_at(&ramp, 1234.5).unwrap();
        assert_eq!(Profile::after_warm_up(held.load()).peak(), 1234.5);
        assert_eq!(
            (held.load().end, held.load().stages.len()),
            (End::Duration(Duration::from_secs(20)), 0)
        );
        assert_eq!(
            (held.load().warm_up, held.load().seed),
            (Duration::from_secs(3), 5)
        );
        let held = users()
            .plan_at(&plan("connections = 4\nrequests = 9"), 33.4)
            .unwrap();
        assert_eq!(held, plan("connections = 33\nduration = \"20s\""));
    }

    #[test]
    fn a_look_is_short_and_without_a_warm_up() {
        let ramp = plan(
            "connections = 5\nwarm_up = \"30s\"\nconnect_ramp = \"20s\"\nthink_time = \
             \"1s\"\nduration = \"60s\"",
        );
        let look = users().plan_of_look(&ramp, Duration::from_secs(2)).unwrap();
        let expected =
            plan("connections = 1\nconnect_ramp = \"2s\"\nthink_time = \"1s\"\nduration = \"2s\"");
        assert_eq!(look, expected);
    }

    #[test]
    fn a_hold_has_the_notes_of_its_canonical_text() {
        let text = "target.url = \"http://edge.test/\"\nconnection.requests = 0\nload.rate = \
                    \"3/s\"\nsearch.rate = { from = \"10/s\", to = \"20/s\" }";
        let campaign = Campaign::parse(text, &mut NoFiles).unwrap();
        let notes = |plan: &Plan| plan.notes().join("\n");
        let variant = &campaign.variants()[0].plan;
        assert!(notes(variant).contains("[search] takes the place of load.rate"));
        let hold = rates().plan_at(variant, 15.0).unwrap();
        let saved = Plan::parse_saved(&hold.canonical_text()).unwrap();
        assert_eq!(notes(&hold), notes(&saved));
        assert!(notes(&hold).contains("TCP connects"), "{}", notes(&hold));
    }

    #[test]
    fn a_hold_that_is_no_load_is_refused() {
        let (open, closed) = (
            plan("rate = \"1/s\"\nduration = \"1s\""),
            plan("connections = 1\nduration = \"1s\""),
        );
        for amount in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(rates().plan_at(&open, amount).is_err(), "{amount}/s");
            assert!(users().plan_at(&closed, amount).is_err(), "{amount} users");
        }
        assert!(users().plan_at(&open, 5.0).is_err() && rates().plan_at(&closed, 5.0).is_err());
    }

    #[test]
    fn each_agent_carries_the_whole_load() {
        let one = "rate = \"10/s\"\nmax_connections = 50\nduration = \"2s\"\n[[load.stage]]\nover \
                   = \"1s\"\nto = \"20/s\"";
        let three = "rate = \"30/s\"\nmax_connections = 150\nduration = \
                     \"2s\"\n[[load.stage]]\nover = \"1s\"\nto = \"60/s\"";
        assert_eq!(plan(one).for_agents(3).unwrap(), plan(three));
        let (one, three) = (
            "connections = 5\nrequests = 70",
            "connections = 15\nrequests = 210",
        );
        assert_eq!(plan(one).for_agents(3).unwrap(), plan(three));
        assert_eq!(plan(one).for_agents(1).unwrap(), plan(one));
    }

    #[test]
    fn more_than_a_plan_can_ask_for_is_refused_by_its_field() {
        let cases = [
            (
                "connections = 10000000\nduration = \"1s\"",
                2,
                "load.connections",
            ),
            ("rate = \"100000000/s\"\nduration = \"1s\"", 2, "load.rate"),
            (
                "rate = \"1/s\"\nduration = \"1s\"\nmax_connections = 9000000",
                2,
                "load.max_connections",
            ),
            (
                "connections = 1\nrequests = 900000000000000",
                2,
                "load.requests",
            ),
            (
                "connections = 1\nduration = \"9s\"\n[[load.stage]]\nto = 9000000",
                2,
                "load.stage",
            ),
            ("connections = 1\nduration = \"9s\"", 0, "load.connections"),
        ];
        for (load, agents, path) in cases {
            assert_eq!(
                plan(load).for_agents(agents).unwrap_err().path,
                path,
                "{load}"
            );
        }
    }
}
