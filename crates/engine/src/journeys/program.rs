//! A journey's course as a list of commands, with jumps in place of nesting.

use plan::{Journey, JourneyCookies, JourneyPart, Pause, StepTurns};

/// One command of a program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JourneyCommand {
    /// Send a request of the plan: the journey's step with this number.
    Send(StepAhead),
    Pause(Pause),
    /// Begin to count the turns of a loop, of which there are nested ones.
    BeginLoop {
        counter: u8,
    },
    /// Go back to `to` until the loop has had all of its `times`.
    Repeat {
        counter: u8,
        times: u32,
        to: u32,
    },
    /// Go on at one of several places, by weights that were summed up.
    Pick {
        ways: Vec<(u32, u32)>,
    },
    /// Go on at `to` unless the text with this index is there, or is not, as wanted.
    SkipUnless {
        captured: u16,
        is_there: bool,
        to: u32,
    },
    Jump {
        to: u32,
    },
    /// A group of steps begins, or has ended: the journey's group with this number.
    BeginGroup(u16),
    EndGroup(u16),
    /// The journey has been completed.
    End,
}

/// A step of a journey, before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepAhead {
    pub(super) number: u16,
    /// The request's place in the plan.
    pub(super) request: u16,
    /// How often it is made.
    pub(super) turns: StepTurns,
}

/// The commands of one journey.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) commands: Vec<JourneyCommand>,
    /// The deepest nesting of loops.
    pub(super) counters: usize,
    pub(super) steps: usize,
    pub(super) groups: usize,
    /// Whether its connection is closed when it has ended.
    pub(super) closes: bool,
    pub(super) cookies: JourneyCookies,
}

impl Program {
    pub(super) fn new(journey: &Journey) -> Program {
        let mut program = Program {
            commands: Vec::new(),
            counters: 0,
            steps: journey.steps().len(),
            groups: journey.groups().len(),
            closes: journey.connection == plan::JourneyConnection::New,
            cookies: journey.cookies,
        };
        program.parts(&journey.course, 0);
        program.commands.push(JourneyCommand::End);
        program
    }

    fn here(&self) -> u32 {
        self.commands.len() as u32 // a journey has some thousand parts at most
    }

    fn parts(&mut self, parts: &[JourneyPart], depth: u8) {
        for part in parts {
            match part {
                &JourneyPart::Step {
                    number,
                    request,
                    turns,
                } => self.commands.push(JourneyCommand::Send(StepAhead {
                    number,
                    request,
                    turns,
                })),
                JourneyPart::Pause(pause) => self.commands.push(JourneyCommand::Pause(*pause)),
                JourneyPart::Repeat { times, parts } => {
                    self.commands
                        .push(JourneyCommand::BeginLoop { counter: depth });
                    self.counters = self.counters.max(usize::from(depth) + 1);
                    let to = self.here();
                    self.parts(parts, depth + 1);
                    self.commands.push(JourneyCommand::Repeat {
                        counter: depth,
                        times: *times,
                        to,
                    });
                }
                JourneyPart::When {
                    captured,
                    is_there,
                    parts,
                } => {
                    let skip = self.commands.len();
                    self.commands.push(JourneyCommand::End); // replaced below
                    self.parts(parts, depth);
                    self.commands[skip] = JourneyCommand::SkipUnless {
                        captured: captured.index,
                        is_there: *is_there,
                        to: self.here(),
                    };
                }
                JourneyPart::Group { number, parts } => {
                    self.commands.push(JourneyCommand::BeginGroup(*number));
                    self.parts(parts, depth);
                    self.commands.push(JourneyCommand::EndGroup(*number));
                }
                JourneyPart::Pick(ways) => self.pick(ways, depth),
            }
        }
    }

    fn pick(&mut self, ways: &[plan::JourneyWay], depth: u8) {
        let pick = self.commands.len();
        self.commands.push(JourneyCommand::End); // replaced below
        let (mut sum, mut places, mut jumps) = (0, Vec::new(), Vec::new());
        for way in ways {
            sum += way.weight;
            places.push((sum, self.here()));
            self.parts(&way.parts, depth);
            jumps.push(self.commands.len());
            self.commands.push(JourneyCommand::End); // replaced below
        }
        let to = self.here();
        for jump in jumps {
            self.commands[jump] = JourneyCommand::Jump { to };
        }
        self.commands[pick] = JourneyCommand::Pick { ways: places };
    }
}
