//! Before the first packet: checks whether this machine can do what its share of a plan asks for.
//! What the machine has is an argument, so every rule is a pure function.

mod cpu;
mod link;
mod ports;
mod room;
#[cfg(test)]
mod tests;

use host::{MachineLimits, Sampler};
use plan::{Calibration, Demand, Owner, Plan, Share};
use std::net::{IpAddr, SocketAddr};

/// A remark is made from this fraction of a bound on.
const CLOSE: f64 = 0.8;

/// What this machine is asked to do.
#[derive(Debug)]
pub(crate) struct Undertaking<'p> {
    pub(crate) plan: &'p Plan,
    /// Number of agents in the run.
    pub(crate) agents: u32,
    /// This agent's share of the plan.
    pub(crate) share: Share,
    pub(crate) demand: Demand,
    /// Addresses of the target.
    pub(crate) addresses: &'p [SocketAddr],
    pub(crate) workers: u32,
    /// Whether workers spin on their CPUs for an arrival that is near.
    pub(crate) spins: bool,
    /// What its work costs this machine, if that was measured.
    pub(crate) calibration: Option<&'p Calibration>,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineRemark {
    pub(crate) severity: Severity,
    /// The numbers, the bound, and what helps.
    pub(crate) text: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Close to a bound, or known to spoil figures.
    Concern,
    /// The plan cannot work here.
    Refusal,
}

type MachineRule = fn(&Undertaking<'_>, &MachineLimits) -> Option<MachineRemark>;

const RULES: [MachineRule; 9] = [
    room::open_files,
    ports::ports,
    room::memory,
    room::check_conntrack,
    cpu::compare_with_calibration,
    link::speed,
    cpu::quota,
    cpu::sleep,
    cpu::clock,
];

impl<'p> Undertaking<'p> {
    /// The share of agent `agent` of `agents`, whose workers spin on their CPUs.
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

    /// What speaks against the share on this machine. Anything that cannot be read speaks against
    /// nothing.
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

    /// What speaks against the share on a machine with these limits.
    pub(crate) fn remarks(&self, limits: &MachineLimits) -> Vec<MachineRemark> {
        let remarks = RULES.iter().filter_map(|rule| rule(self, limits));
        remarks.collect()
    }

    /// Connections of virtual users, one of each to every destination; 0 for an open loop, which
    /// may need any number of them.
    fn users(&self) -> u64 {
        let each = self.plan.target().destinations().count() as u64;
        self.share.connections_of_users().map_or(0, u64::from) * each
    }

    /// Weakens a refusal because of a rate. Virtual users reach their rate only if answers take no
    /// time, so a closed loop is not refused for it.
    fn by_rate(&self, severity: Severity) -> Severity {
        match severity {
            Severity::Refusal if self.share.rate.is_none() => Severity::Concern,
            severity => severity,
        }
    }

    /// Advice on how many agents would be enough, if this one asks for `asked` of a bound.
    fn agents_for(&self, asked: f64, bound: f64) -> Option<String> {
        let agents = f64::from(self.agents);
        enough(agents, asked, bound).map(|agents| format!("use {agents} agents"))
    }
}

/// How many would not be close to a bound, in place of `number` that each ask for `asked` of it.
/// `None` if no number would be enough, or if `number` is.
fn enough(number: f64, asked: f64, bound: f64) -> Option<f64> {
    let needed = (number * asked / (CLOSE * bound)).ceil();
    (needed > number && needed.is_finite()).then_some(needed)
}

impl Severity {
    /// How bad it is to ask for `asked` of a bound; `None` if that is not close to it.
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
