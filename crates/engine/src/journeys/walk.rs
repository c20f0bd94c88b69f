//! One journey under way: where it is in its program.

use super::program::{JourneyCommand, Program, StepAhead};
use crate::journey_memory::JourneyMemory;
use crate::random::Random;
use measure::{JourneyCell, nanoseconds};
use plan::{Pause, StepTurns};

/// A journey under way. What it does follows from the plan's seed, its number in the cluster, and
/// the answers: not from the fleet.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) cell: JourneyCell,
    /// The number that its operations have.
    pub(super) seq: u64,
    /// When it was due.
    pub(super) due_at: u64,
    /// Pauses between its operations so far.
    pub(super) paused_ns: u64,
    pub(super) state: WalkState,
    at: u32,
    counters: Box<[u32]>,
    /// By the number of a step: whether it has been begun before.
    begun: Box<[bool]>,
    /// By the number of a group.
    groups: Box<[GroupPlace]>,
    random: Random,
}

/// What a journey does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkState {
    /// It has not begun yet.
    Ahead,
    /// An operation of this step is under way.
    UnderWay { step: StepAhead },
    /// Its next step is due at this instant.
    Due { at: u64, step: StepAhead },
}

/// Where a journey is with a group of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupPlace {
    Outside,
    /// No step of it has begun.
    Entered,
    /// Its first step was due at `due_at`, when the journey had paused for `paused_ns`.
    Begun {
        due_at: u64,
        paused_ns: u64,
    },
}

/// A group of steps whose last one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompletedGroup {
    pub(super) number: u16,
    /// When its first step was due.
    pub(super) due_at: u64,
    /// Pauses between its first step and its last one.
    pub(super) paused_ns: u64,
}

/// What follows, after a pause in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkMove {
    Step {
        step: StepAhead,
        pause_ns: u64,
    },
    /// Past a step that the user has made before; whether it is the first time that the journey
    /// has come to it.
    Skip {
        step: StepAhead,
        is_first: bool,
        pause_ns: u64,
    },
    /// Past the end of a group.
    Leave {
        group: CompletedGroup,
        pause_ns: u64,
    },
    End {
        pause_ns: u64,
    },
}

impl Walk {
    pub(super) fn new(
        cell: JourneyCell,
        (seq, due_at): (u64, u64),
        program: &Program,
        seed: u64,
    ) -> Walk {
        Walk {
            cell,
            seq,
            due_at,
            paused_ns: 0,
            state: WalkState::Ahead,
            at: 0,
            counters: vec![0; program.counters].into(),
            begun: vec![false; program.steps].into(),
            groups: vec![GroupPlace::Outside; program.groups].into(),
            random: Random::new(seed ^ JOURNEY_SEED, seq),
        }
    }

    /// Random bits of the journey.
    pub(super) fn bits(&mut self) -> u64 {
        self.random.bits()
    }

    /// Makes the step due at `from` plus a pause.
    pub(super) fn wait(&mut self, from: u64, step: StepAhead, pause_ns: u64) {
        self.paused_ns = self.paused_ns.saturating_add(pause_ns);
        let at = from.saturating_add(pause_ns);
        self.state = WalkState::Due { at, step };
    }

    /// Puts its next step off, which could not begin before its connection had ended.
    pub(super) fn put_off(&mut self, by_ns: u64) {
        if let WalkState::Due { at, .. } = &mut self.state {
            *at = at.saturating_add(by_ns);
            self.paused_ns = self.paused_ns.saturating_add(by_ns);
        }
    }

    /// Begins the step. Returns whether it is the first time.
    pub(super) fn begin(&mut self, step: StepAhead) -> bool {
        self.state = WalkState::UnderWay { step };
        self.come_to(step.number)
    }

    /// Begins the groups whose first step is due at `due_at`, and tells of each.
    pub(super) fn begin_groups(&mut self, due_at: u64, mut tell: impl FnMut(u16)) {
        let paused_ns = self.paused_ns;
        for (number, place) in (0..).zip(&mut self.groups) {
            if *place == GroupPlace::Entered {
                *place = GroupPlace::Begun { due_at, paused_ns };
                tell(number);
            }
        }
    }

    /// Leaves a group. Returns it if any step of it has begun.
    fn leave(&mut self, number: u16) -> Option<CompletedGroup> {
        let place = self.groups.get_mut(usize::from(number))?;
        let GroupPlace::Begun { due_at, paused_ns } = std::mem::replace(place, GroupPlace::Outside)
        else {
            return None;
        };
        Some(CompletedGroup {
            number,
            due_at,
            paused_ns: self.paused_ns.saturating_sub(paused_ns),
        })
    }

    /// Returns whether it is the first time that the journey comes to a step.
    fn come_to(&mut self, step: u16) -> bool {
        let begun = self.begun.get_mut(usize::from(step));
        begun.is_some_and(|begun| !std::mem::replace(begun, true))
    }

    /// Goes on in the program to the next step or the end. `has_made` says whether the user has
    /// made a request before, by its place in the plan.
    pub(super) fn advance(
        &mut self,
        program: &Program,
        texts: Option<&JourneyMemory>,
        has_made: impl Fn(u16) -> bool,
    ) -> WalkMove {
        let mut pause_ns: u64 = 0;
        loop {
            let command = &program.commands[self.at as usize];
            self.at += 1;
            match command {
                &JourneyCommand::Send(step) => {
                    if step.turns == StepTurns::OncePerUser && has_made(step.request) {
                        return WalkMove::Skip {
                            step,
                            is_first: self.come_to(step.number),
                            pause_ns,
                        };
                    }
                    return WalkMove::Step { step, pause_ns };
                }
                JourneyCommand::Pause(pause) => {
                    pause_ns = pause_ns.saturating_add(draw(*pause, &mut self.random));
                }
                JourneyCommand::BeginLoop { counter } => self.counters[usize::from(*counter)] = 0,
                JourneyCommand::Repeat { counter, times, to } => {
                    let turns = &mut self.counters[usize::from(*counter)];
                    *turns += 1;
                    if *turns < *times {
                        self.at = *to;
                    }
                }
                JourneyCommand::Pick { ways } => {
                    let sum = ways.last().map_or(1, |&(sum, _)| sum);
                    let drawn = self.random.between(1, u64::from(sum));
                    let way = ways.iter().find(|&&(sum, _)| drawn <= u64::from(sum));
                    self.at = way.map_or(self.at, |&(_, to)| to);
                }
                JourneyCommand::SkipUnless {
                    captured,
                    is_there,
                    to,
                } => {
                    let text = texts.map_or(&b""[..], |texts| texts.text(*captured));
                    if text.is_empty() == *is_there {
                        self.at = *to;
                    }
                }
                JourneyCommand::Jump { to } => self.at = *to,
                &JourneyCommand::BeginGroup(number) => {
                    if let Some(place) = self.groups.get_mut(usize::from(number)) {
                        *place = GroupPlace::Entered;
                    }
                }
                &JourneyCommand::EndGroup(number) => {
                    if let Some(group) = self.leave(number) {
                        return WalkMove::Leave { group, pause_ns };
                    }
                }
                JourneyCommand::End => return WalkMove::End { pause_ns },
            }
        }
    }
}

/// Distinguishes the random numbers of journeys from others of the run.
const JOURNEY_SEED: u64 = 0x6a6f_7572_6e65_7973;

/// Draws how long a pause takes, in nanoseconds.
fn draw(pause: Pause, random: &mut Random) -> u64 {
    match pause {
        Pause::Uniform { min, max } if min == max => nanoseconds(min),
        Pause::Uniform { min, max } => random.between(nanoseconds(min), nanoseconds(max)),
        Pause::Exponential { mean, most } => {
            let drawn = -(1.0 - random.unit()).ln() * nanoseconds(mean) as f64;
            (drawn as u64).min(nanoseconds(most))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Period;
    use plan::{NoFiles, Plan};

    /// The requests of journey `seq` with these `steps`, and its pauses in milliseconds, if the
    /// first request captures `texts`.
    fn walk(steps: &str, seq: u64, texts: Option<&JourneyMemory>) -> (String, Vec<u64>) {
        walk_again(steps, seq, texts, &[])
    }

    /// The same of a user who has made these requests before. A step that is skipped is a `-`, and
    /// a `=` the next time.
    fn walk_again(
        steps: &str,
        seq: u64,
        texts: Option<&JourneyMemory>,
        made: &[u16],
    ) -> (String, Vec<u64>) {
        let text = format!(
            "target.url = \"http://127.0.0.1/\"
             journey = [{{ steps = {steps} }}]
             request = [
                 {{ name = \"a\", capture.x = {{ header = \"x\" }} }},
                 {{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"d\" }},
             ]
             load = {{ connections = 1, journeys = 1 }}"
        );
        // Requests that stand in no step are refused.
        let text = ["b", "c", "d"].iter().fold(text, |text, name| {
            let is_used = steps.contains(&format!("\"{name}\""));
            let request = format!("{{ name = \"{name}\" }},");
            if is_used {
                text
            } else {
                text.replace(&request, "")
            }
        });
        let plan = Plan::parse(&text, &mut NoFiles).expect(steps);
        let program = Program::new(&plan.journeys()[0]);
        let cell = JourneyCell {
            period: Period::Measured,
            journey: 0,
        };
        let mut walk = Walk::new(cell, (seq, 0), &program, 1);
        let has_made = |request| made.contains(&request);
        let mut next = Some(walk.advance(&program, texts, has_made));
        let (mut requests, mut pauses) = (String::new(), Vec::new());
        while let Some(advance) = next {
            let (WalkMove::Step { pause_ns, .. }
            | WalkMove::Skip { pause_ns, .. }
            | WalkMove::Leave { pause_ns, .. }
            | WalkMove::End { pause_ns }) = advance;
            pauses.push(pause_ns / 1_000_000);
            next = match advance {
                WalkMove::Step { step, .. } => {
                    walk.paused_ns += pause_ns;
                    walk.begin_groups(0, |number| requests += &format!("{number}:"));
                    requests += &plan.requests()[usize::from(step.request)].name;
                    walk.begin(step);
                    Some(walk.advance(&program, texts, has_made))
                }
                WalkMove::Leave { group, .. } => {
                    requests += &format!("[{} {}]", group.number, group.paused_ns / 1_000_000);
                    Some(walk.advance(&program, texts, has_made))
                }
                WalkMove::Skip { is_first, .. } => {
                    requests += if is_first { "-" } else { "=" };
                    Some(walk.advance(&program, texts, has_made))
                }
                WalkMove::End { .. } => None,
            };
        }
        (requests, pauses)
    }

    #[test]
    fn steps_are_taken_in_order_and_repeated() {
        for (steps, requests) in [
            ("[\"a\"]", "a"),
            ("[\"a\", \"b\", \"a\"]", "aba"),
            ("[\"a\", { repeat = 3, steps = [\"b\"] }, \"c\"]", "abbbc"),
            (
                "[\"a\", { repeat = 2, steps = [{ repeat = 2, steps = [\"b\"] }, \"c\"] }]",
                "abbcbbc",
            ),
            (
                "[\"a\", { if = \"x\", steps = [\"b\"] }, { unless = \"x\", steps = [\"c\"] }]",
                "ac",
            ),
            (
                "[\"a\", { repeat = 2, steps = [{ unless = \"x\", steps = [\"b\"] }, \"c\"] }]",
                "abcbc",
            ),
        ] {
            assert_eq!(walk(steps, 0, None).0, requests, "{steps}");
        }
        let texts = JourneyMemory::of_names(&["x"]);
        let steps = "[\"a\", { if = \"x\", steps = [\"b\"] }, { unless = \"x\", steps = [\"c\"] }]";
        assert_eq!(walk(steps, 0, Some(&texts)).0, "ab");
    }

    #[test]
    fn steps_made_once_are_skipped_by_users_who_have_made_them() {
        let once = "{ request = \"a\", once = \"user\" }";
        let steps = format!(
            "[{once}, {{ pause = \"5ms\" }}, {{ repeat = 2, steps = [{once}, \"b\"] }}, \"a\"]"
        );
        let made = |made: &[u16]| walk_again(&steps, 0, None, made);
        assert_eq!(made(&[]).0, "aababa");
        assert_eq!(made(&[1]).0, "aababa");
        assert_eq!(made(&[0]), ("--b=ba".to_owned(), vec![0, 5, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn groups_last_from_their_first_step_to_their_last_one() {
        let pause = "{ pause = \"5ms\" }";
        let inner = format!("{{ group = \"in\", steps = [{pause}, \"b\"] }}");
        for (steps, requests) in [
            (
                format!(
                    "[\"a\", {{ group = \"g\", \
                     steps = [{pause}, \"b\", {pause}, \"b\", {pause}] }}]"
                ),
                "a0:bb[0 5]",
            ),
            (
                format!(
                    "[{{ group = \"g\", steps = [\"a\", {{ repeat = 2, steps = [{inner}] }}] }}]"
                ),
                "0:a1:b[1 0]1:b[1 0][0 10]",
            ),
            // No step of it is made.
            (
                "[\"a\", { group = \"g\", steps = [{ if = \"x\", steps = [\"b\"] }] }]".to_owned(),
                "a",
            ),
        ] {
            assert_eq!(walk(&steps, 0, None).0, requests, "{steps}");
        }
    }

    #[test]
    fn pauses_add_up_to_the_next_step_or_the_end() {
        let steps = "[\"a\", { pause = \"5ms\" }, { pause = \"2ms\" }, \"b\", { pause = \"3ms\" }]";
        assert_eq!(walk(steps, 0, None), ("ab".to_owned(), vec![0, 7, 3]));
        let mean = |steps: &str| {
            let pauses = (0..2000).map(|seq| walk(steps, seq, None).1[1]);
            let pauses: Vec<u64> = pauses.collect();
            let sum: u64 = pauses.iter().sum();
            (sum / 2000, pauses.iter().max().copied().unwrap_or(0))
        };
        let (uniform, most) = mean("[\"a\", { pause = { min = \"1s\", max = \"3s\" } }, \"b\"]");
        assert!(
            (1_950..2_050).contains(&uniform) && most <= 3_000,
            "{uniform} {most}"
        );
        let (exponential, most) =
            mean("[\"a\", { pause = { mean = \"1s\", most = \"20s\" } }, \"b\"]");
        assert!(
            (930..1_070).contains(&exponential) && most > 5_000,
            "{exponential} {most}"
        );
        let (_, most) = mean("[\"a\", { pause = { mean = \"1s\", most = \"2s\" } }, \"b\"]");
        assert_eq!(most, 2_000);
    }

    #[test]
    fn ways_are_taken_by_weight_and_follow_from_the_number() {
        let steps = "[\"a\", { pick = [{ weight = 3, steps = [\"b\"] }, \
                     { weight = 1, steps = [] }, { weight = 6, steps = [\"c\", \"d\"] }] }]";
        let walks: Vec<String> = (0..4000).map(|seq| walk(steps, seq, None).0).collect();
        let number = |wanted: &str| walks.iter().filter(|walk| *walk == wanted).count();
        for (way, expected) in [("ab", 1200_usize), ("a", 400), ("acd", 2400)] {
            assert!(
                number(way).abs_diff(expected) < 120,
                "{way}: {}",
                number(way)
            );
        }
        assert_eq!(walk(steps, 77, None).0, walks[77]);
    }
}
