//! Before the first packet: whether this machine can do what a share of a plan asks of it. What a
//! machine has is an argument, so that every rule is a pure function.

mod cpu;
mod link;
mod ports;
mod room;
#[cfg(test)]
mod tests;

use host::{MachineLimits, Sampler};
use plan::{Calibration, Demand, Owner, Plan, Share};
use std::net::{IpAddr, SocketAddr};

/// Reached of a bound, it is worth a word.
const CLOSE: f64 = 0.8;

/// What this machine is to do.
#[derive(Debug)]
pub(crate) struct Undertaking<'p> {
    pub(crate) plan: &'p Plan,
    /// Agents of the run.
    pub(crate) agents: u32,
    /// What this one has of it.
    pub(crate) share: Share,
    pub(crate) demand: Demand,
    /// Of the target.
    pub(crate) addresses: &'p [SocketAddr],
    pub(crate) workers: u32,
    /// Whether workers wait on their CPUs for an arrival that is near.
    pub(crate) spins: bool,
    /// What its work costs this machine, where that was measured.
    pub(crate) calibration: Option<&'p Calibration>,
}

/// What a rule has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineRemark {
    pub(crate) severity: Severity,
    /// The numbers, the bound, and what helps.
    pub(crate) text: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Close to a bound, or known to spoil figures.
    Concern,
    /// It cannot work.
    Refusal,
}

type MachineRule = fn(&Undertaking<'_>, &MachineLimits) -> Option<MachineRemark>;

const RULES: [MachineRule; 9] = [
    room::open_files,
    ports::ports,
    room::memory,
    room::tracked_connections,
    cpu::calibrated,
    link::speed,
    cpu::quota,
    cpu::sleep,
    cpu::clock,
];

impl<'p> Undertaking<'p> {
    /// The share of agent `agent` of `agents`, whose workers wait on their CPUs.
    pub(crate) fn new(
        plan: &'p Plan,
        (agent, agents): (u32, u32),
        addresses: &'p [SocketAddr],
        workers: u32,
    ) -> Undertaking<'p> {
        let owner = Owner {
            agent,
            agents,
            ..Owner::ALONE
        };
        Undertaking {
            plan,
            agents,
            share: plan.share(agent, agents),
            demand: plan.demand(&owner.into()),
            addresses,
            workers,
            spins: true,
            calibration: None,
        }
    }

    /// What speaks against it on this machine. What cannot be read of it speaks against nothing.
    pub(crate) fn remarks_here(&self) -> Vec<MachineRemark> {
        let targets: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        match Sampler::new().limits(&targets) {
            Ok(limits) => self.remarks(&limits),
            Err(error) => vec![MachineRemark {
                severity: Severity::Concern,
                text: format!("this machine's limits are not known: {error}"),
            }],
        }
    }

    /// What speaks against it on a machine with these limits.
    pub(crate) fn remarks(&self, limits: &MachineLimits) -> Vec<MachineRemark> {
        let remarks = RULES.iter().filter_map(|rule| rule(self, limits));
        remarks.collect()
    }

    /// Virtual users; of an open loop nobody knows how many connections it will need.
    fn users(&self) -> u64 {
        self.share.peak_connections.map_or(0, u64::from)
    }

    /// What a bound on rates comes to. Virtual users reach theirs only if no answer takes any time:
    /// what speaks against it does not refuse a closed loop.
    fn by_rate(&self, severity: Severity) -> Severity {
        match severity {
            Severity::Refusal if self.share.rate.is_none() => Severity::Concern,
            severity => severity,
        }
    }

    /// How many agents would each have enough of a bound of which this one has `asked`.
    fn agents_for(&self, asked: f64, bound: f64) -> Option<String> {
        let agents = f64::from(self.agents);
        enough(agents, asked, bound).map(|agents| format!("use {agents} agents"))
    }
}

/// How many in place of `number` would not be close to a bound of which each of those has `asked`;
/// `None` where no number would do, or where these do.
fn enough(number: f64, asked: f64, bound: f64) -> Option<f64> {
    let needed = (number * asked / (CLOSE * bound)).ceil();
    (needed > number && needed.is_finite()).then_some(needed)
}

impl Severity {
    /// Of what asks for so much of a bound.
    fn of_bound(asked: f64, bound: f64) -> Option<Severity> {
        match asked {
            _ if asked > bound => Some(Severity::Refusal),
            _ if asked > 0.0 && asked >= CLOSE * bound => Some(Severity::Concern),
            _ => None,
        }
    }

    fn remark(self, text: String) -> MachineRemark {
        MachineRemark {
            severity: self,
            text,
        }
    }
}

/// `a`, `a or b`, `a, b, or c`.
fn either(cures: &[String]) -> String {
    match cures {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} or {two}"),
        [first @ .., last] => format!("{}, or {last}", first.join(", ")),
    }
}
