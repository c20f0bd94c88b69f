//! What a seed stands for: the fleet, the plan, the network in between, and what goes wrong when.

use crate::agent::{LoadShape, STEPS_PER_INTERVAL};
use crate::network::Way;
use crate::random::Random;
use crate::strikes::NOTICED;
use control::{FleetRules, LostPolicy, Stop};
use std::time::Duration;

pub const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Everything that is drawn before a case begins.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub agents: usize,
    /// Machines that a monitor watches, in the slots after those of the agents.
    pub monitors: usize,
    pub plan_seconds: u32,
    pub shape: LoadShape,
    pub rules: FleetRules,
    /// Shortest and longest delay between an agent and its coordinator.
    pub delay_ns: (u64, u64),
    /// Longest duration of a sync.
    pub sync_ns: u64,
    /// Size of a file that the plan names.
    pub file_bytes: Option<usize>,
    /// Number of rounds of runs, one after the other; nothing goes wrong after the first.
    pub runs: u8,
    /// Number of runs that go on at once, each on its part of the agents.
    pub at_once: u8,
    pub faults: Vec<(u64, Fault)>,
}

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An agent's stream breaks, and each side hears of it soon, late or never.
    Cut {
        slot: usize,
    },
    /// Nothing passes between these agents and any coordinator.
    Partition {
        slots: Vec<usize>,
        ways: Vec<Way>,
        for_ns: u64,
    },
    /// A link carries no more than this.
    Slow {
        slot: usize,
        bytes_per_second: u64,
        for_ns: u64,
    },
    /// A link takes longer.
    Far {
        slot: usize,
        extra_ns: u64,
        for_ns: u64,
    },
    /// The coordinator ends, and is restarted on its disk.
    CoordinatorEnds {
        how: Ending,
        down_ns: u64,
    },
    /// The coordinator ends for good.
    CoordinatorGone,
    /// The coordinator's process stalls.
    CoordinatorStalls {
        for_ns: u64,
    },
    /// The coordinator becomes unreachable, and another one takes the run up from a copy of its
    /// disk. Later both are reachable.
    TakenUpElsewhere {
        back_ns: u64,
    },
    DiskFull {
        for_ns: u64,
    },
    DiskSlow {
        sync_ns: u64,
        for_ns: u64,
    },
    /// An agent's process ends, and another one is started later.
    AgentEnds {
        slot: usize,
        down_ns: u64,
    },
    AgentStalls {
        slot: usize,
        for_ns: u64,
    },
    /// The machine sleeps: its monotonic clock stands still, but the boot-time clock does not.
    AgentSleeps {
        slot: usize,
        for_ns: u64,
    },
    /// An agent is told to quit.
    AgentQuits {
        slot: usize,
        down_ns: u64,
    },
    /// A connection of a stranger.
    Stranger(Stranger),
    /// An agent sends something that breaks the protocol.
    Violation {
        slot: usize,
        how: BrokenRule,
    },
    /// The run is stopped.
    Stops(Stop),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was written is still there.
    Killed,
    /// What was not synced may be gone, and the agents are not notified.
    PowerFails,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    SaysNothing,
    SaysNoHello,
    SpeaksAnotherProtocol,
    Babbles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenRule {
    /// A part that does not follow the one before it.
    SkipsAPart,
    /// A second hello on a stream.
    GreetsTwice,
    /// An interval with an impossible number.
    CountsTooFar,
}

impl Fault {
    /// How long its effect lasts.
    pub fn lasts(&self) -> u64 {
        match self {
            Fault::Partition { for_ns, .. }
            | Fault::Slow { for_ns, .. }
            | Fault::Far { for_ns, .. }
            | Fault::CoordinatorStalls { for_ns }
            | Fault::DiskFull { for_ns }
            | Fault::DiskSlow { for_ns, .. }
            | Fault::AgentStalls { for_ns, .. }
            | Fault::AgentSleeps { for_ns, .. } => *for_ns,
            Fault::CoordinatorEnds { down_ns, .. }
            | Fault::AgentEnds { down_ns, .. }
            | Fault::AgentQuits { down_ns, .. } => *down_ns,
            Fault::TakenUpElsewhere { back_ns } => *back_ns + NOTICED,
            Fault::Cut { .. }
            | Fault::CoordinatorGone
            | Fault::Stranger(_)
            | Fault::Violation { .. }
            | Fault::Stops(_) => 0,
        }
    }
}

impl Case {
    /// A case in which nothing goes wrong, and everything is ordinary.
    pub fn quiet(seed: u64, agents: usize) -> Case {
        Case {
            seed,
            agents,
            monitors: 0,
            plan_seconds: 8,
            shape: LoadShape {
                steps: 8 * STEPS_PER_INTERVAL,
                interval_bytes: 64,
                large_bytes: 64,
                totals_bytes: 64,
                preparing_ns: 100 * MS,
                is_closed: false,
            },
            rules: FleetRules::default(),
            delay_ns: (50_000, 40 * MS),
            sync_ns: 20 * MS,
            file_bytes: None,
            runs: 1,
            at_once: 1,
            faults: vec![],
        }
    }

    pub fn machines(&self) -> usize {
        self.agents + self.monitors
    }

    pub fn with(mut self, at: u64, fault: Fault) -> Case {
        self.faults.push((at, fault));
        self
    }

    /// The case that the seed stands for.
    pub fn drawn(seed: u64) -> Case {
        let random = &mut Random(seed ^ 0x5157_u64.rotate_left(40));
        let agents = draw_agents(random);
        let mut case = Case::quiet(seed, agents);
        case.monitors = random.below(3) as usize;
        case.plan_seconds = random.between(3, 12) as u32;
        case.shape = draw_shape(case.plan_seconds, random);
        case.shape.is_closed = seed.is_multiple_of(3);
        case.rules = draw_rules(agents, random);
        case.delay_ns = match random.below(4) {
            0 => (20_000, 500_000),
            1 => (20 * MS, 150 * MS),
            _ => (50_000, 40 * MS),
        };
        case.sync_ns = [MS, 20 * MS, 400 * MS][random.below(3) as usize];
        case.file_bytes = random.percent(20).then(|| random.below(100_000) as usize);
        case.runs = 1 + u8::from(random.percent(20));
        case.draw_faults(random);
        case.at_once = 1 + u8::from(agents > 1 && random.percent(25));
        case
    }

    /// Each case has a few kinds of faults of its own, so that some have many of one kind.
    fn draw_faults(&mut self, random: &mut Random) {
        let kinds: Vec<u64> = (0..KINDS).filter(|_| random.percent(25)).collect();
        if kinds.is_empty() || random.percent(4) {
            return;
        }
        let count = random.between(1, 7);
        let until = u64::from(self.plan_seconds) * SECOND + 12 * SECOND;
        for _ in 0..count {
            let kind = kinds[random.below(kinds.len() as u64) as usize];
            let at = random.below(until);
            let fault = self.draw_fault(kind, random);
            self.faults.push((at, fault));
        }
        self.faults.sort_by_key(|(at, _)| *at);
    }

    fn draw_fault(&self, kind: u64, random: &mut Random) -> Fault {
        let slot = random.below(self.machines() as u64) as usize;
        let for_ns = draw_length(random);
        match kind {
            0 => Fault::Cut { slot },
            1 => self.draw_partition(for_ns, random),
            2 => Fault::Slow {
                slot,
                bytes_per_second: [8 << 10, 32 << 10, 1 << 20][random.below(3) as usize],
                for_ns,
            },
            3 => Fault::Far {
                slot,
                extra_ns: random.between(10 * MS, 800 * MS),
                for_ns,
            },
            4 if random.percent(10) => Fault::CoordinatorGone,
            4 => Fault::CoordinatorEnds {
                how: [Ending::Killed, Ending::PowerFails][random.below(2) as usize],
                down_ns: for_ns,
            },
            5 => Fault::CoordinatorStalls { for_ns },
            6 => Fault::TakenUpElsewhere { back_ns: for_ns },
            7 => Fault::DiskFull { for_ns },
            8 => Fault::DiskSlow {
                sync_ns: random.between(100 * MS, 3 * SECOND),
                for_ns,
            },
            9 => Fault::AgentEnds {
                slot,
                down_ns: for_ns,
            },
            10 => Fault::AgentStalls { slot, for_ns },
            11 => Fault::AgentSleeps { slot, for_ns },
            12 => Fault::AgentQuits {
                slot,
                down_ns: for_ns,
            },
            13 => Fault::Stranger(
                [
                    Stranger::SaysNothing,
                    Stranger::SaysNoHello,
                    Stranger::SpeaksAnotherProtocol,
                    Stranger::Babbles,
                ][random.below(4) as usize],
            ),
            14 => Fault::Violation {
                slot,
                how: [
                    BrokenRule::SkipsAPart,
                    BrokenRule::GreetsTwice,
                    BrokenRule::CountsTooFar,
                ][random.below(3) as usize],
            },
            _ => Fault::Stops([Stop::Drain, Stop::Now][random.below(2) as usize]),
        }
    }

    fn draw_partition(&self, for_ns: u64, random: &mut Random) -> Fault {
        let all = random.percent(25);
        let slots = (0..self.machines()).filter(|_| all || random.percent(40));
        let slots: Vec<usize> = slots.collect();
        let ways = match random.below(3) {
            0 => vec![Way::Up],
            1 => vec![Way::Down],
            _ => vec![Way::Up, Way::Down],
        };
        Fault::Partition {
            slots,
            ways,
            for_ns,
        }
    }
}

/// Number of kinds of faults that [`Case::draw_fault`] knows.
const KINDS: u64 = 16;

/// A short time, one of about a lease, or a long one.
fn draw_length(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.between(10 * MS, 900 * MS),
        1 | 2 => random.between(SECOND, 8 * SECOND),
        _ => random.between(8 * SECOND, 45 * SECOND),
    }
}

fn draw_agents(random: &mut Random) -> usize {
    let most = match random.below(100) {
        0..80 => 5,
        80..98 => 12,
        _ => 50,
    };
    random.between(2, most) as usize
}

fn draw_shape(plan_seconds: u32, random: &mut Random) -> LoadShape {
    let large = random.percent(12);
    // For a plan that does not end with a whole second.
    let odd = random.below(u64::from(STEPS_PER_INTERVAL)) as u32;
    LoadShape {
        steps: plan_seconds * STEPS_PER_INTERVAL - odd,
        interval_bytes: random.between(8, 300) as usize,
        large_bytes: if large { 300_000 } else { 300 },
        totals_bytes: if large { 1 << 20 } else { 64 },
        preparing_ns: random.between(MS, 2 * SECOND),
        is_closed: false,
    }
}

fn draw_rules(agents: usize, random: &mut Random) -> FleetRules {
    let lost = match random.below(4) {
        0 => LostPolicy::Fail,
        1 => LostPolicy::Continue,
        _ => LostPolicy::Redistribute,
    };
    let lease = [5, 5, 8, 15, 30][random.below(5) as usize];
    FleetRules {
        lease: Duration::from_secs(lease),
        lost,
        tolerate: random.below(agents as u64) as u32,
        join_timeout: random.percent(10).then_some(Duration::from_secs(20)),
        max_skew: match random.percent(10) {
            true => Duration::from_millis(50),
            false => Duration::MAX,
        },
    }
}
