//! How much of its CPUs each calibrated agent needs for its share of a plan.

use crate::calibrated_agents::{CalibratedAgent, CalibratedAgents};
#[cfg(feature = "load")]
use host::Sampler;
use measure::calendar;
use plan::{CalibratedWork, Calibration, Demand, Expense, Owner, Plan, Shape};
use std::path::Path;

/// Most agents that are listed; if there are more, those that joined last are.
const LISTED_MAX: usize = 40;
/// A part of an expense below this is not mentioned.
const PART_MIN: f64 = 0.0005;

/// Machines whose calibration is known.
#[derive(Debug, Default)]
pub(super) struct KnownMachines {
    /// With names as a sentence begins with them.
    machines: Vec<KnownMachine>,
    /// Why a stored calibration is not used.
    remarks: Vec<String>,
}

#[derive(Debug)]
struct KnownMachine {
    name: String,
    workers: u32,
    calibration: Calibration,
}

impl KnownMachines {
    /// Finds the agents that have joined the coordinator with this state folder, or this machine if
    /// none has. Failures become remarks: a plan can be checked without calibrations.
    pub(super) fn find(state: Option<&Path>) -> KnownMachines {
        let mut known = KnownMachines::default();
        if let Some(state) = state {
            match CalibratedAgents::new(state).read() {
                Ok(agents) => known
                    .machines
                    .extend(agents.into_iter().map(KnownMachine::from)),
                Err(error) => known.remarks.push(format!(
                    "the calibrations in {} are not used: {error:#}",
                    state.display()
                )),
            }
        }
        #[cfg(feature = "load")]
        if known.machines.is_empty() {
            known.add_this_machine();
        }
        known
    }

    #[cfg(feature = "load")]
    fn add_this_machine(&mut self) {
        let file = command_line::state_folder().map(|folder| folder.join(agent::CALIBRATION_FILE));
        let (Some(file), Ok(facts)) = (file.filter(|file| file.exists()), Sampler::new().facts())
        else {
            return;
        };
        match agent::read_calibration(&file, &facts) {
            Ok(calibration) => self.machines.push(KnownMachine {
                name: "this machine".to_owned(),
                workers: facts.usable_cpus() as u32,
                calibration,
            }),
            Err(error) => self.remarks.push(format!(
                "the calibration {} is not used: {error:#}",
                file.display()
            )),
        }
    }

    /// Returns a line for each machine: how much of its CPUs the share of one of `agents` agents
    /// needs.
    pub(super) fn lines(&self, plan: &Plan, agents: u32) -> String {
        let mut lines = self.remarks.clone();
        // The last share is the largest if the load does not divide evenly.
        let owner = Owner {
            agent: agents.saturating_sub(1),
            agents,
            ..Owner::ALONE
        };
        let asked = plan.demand(&owner.into());
        let wanted = LISTED_MAX.min(agents as usize);
        let beyond = self.machines.len().saturating_sub(wanted);
        let listed = &self.machines[beyond..];
        if listed.is_empty() {
            lines.push(
                "how much of its CPU an agent needs is not known; `agent calibrate` on its machine \
                 would tell"
                    .to_owned(),
            );
        }
        lines.extend(
            listed
                .iter()
                .map(|machine| machine.line(plan, &asked, agents)),
        );
        let unknown = (agents as usize).saturating_sub(self.machines.len());
        if let Some(least) = least_capable(listed, plan, &asked).filter(|_| unknown > 0) {
            lines.push(format!(
                "{unknown} more of {agents} agents: as {}, the least capable that is known",
                least.name
            ));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl From<CalibratedAgent> for KnownMachine {
    fn from(agent: CalibratedAgent) -> KnownMachine {
        KnownMachine {
            name: format!("agent {}", agent.name),
            workers: agent.workers,
            calibration: agent.calibration,
        }
    }
}

impl KnownMachine {
    fn expense(&self, asked: &Demand) -> Option<Expense> {
        self.calibration.expense(asked, self.workers)
    }

    /// The cost of the demand, or of one operation each second if the plan leaves the rate open.
    fn cost(&self, plan: &Plan, asked: &Demand) -> Option<f64> {
        let expense = self.expense(asked).or_else(|| self.of_one_operation(plan));
        expense.map(|expense| expense.part)
    }

    fn of_one_operation(&self, plan: &Plan) -> Option<Expense> {
        let share = plan.share(0, 1);
        self.expense(&plan.demand_at(&share, Some(1.0)))
    }

    fn line(&self, plan: &Plan, asked: &Demand, agents: u32) -> String {
        let name = &self.name;
        let measured_at = i64::try_from(self.calibration.measured_at_s).unwrap_or(0);
        let date = calendar::text(measured_at);
        let noise = if self.calibration.is_disturbed() {
            " on a busy machine, so that figures are too high"
        } else {
            ""
        };
        let day = date.split('T').next().unwrap_or_default();
        let calibrated = format!("calibrated {day}{noise}");
        if let Some(Expense { part, kinds }) = self.expense(asked) {
            let more = if part > 1.0 {
                let enough = (part * f64::from(agents)).ceil();
                format!("; {enough} such agents would do")
            } else {
                String::new()
            };
            return format!(
                "{name} needs {} of its CPU for this plan's share: {} ({calibrated}){more}",
                percent(part),
                list_work(&kinds)
            );
        }
        let is_closed = matches!(plan.load().shape, Shape::Closed { .. });
        match self.of_one_operation(plan).filter(|_| is_closed) {
            Some(each) if each.part > 0.0 => format!(
                "{name} can do about {:.0} operations per second at most; a closed loop asks for \
                 as many as the target answers ({calibrated})",
                1.0 / each.part
            ),
            _ => format!("{name} is not calibrated for what this plan does ({calibrated})"),
        }
    }
}

fn least_capable<'a>(
    listed: &'a [KnownMachine],
    plan: &Plan,
    asked: &Demand,
) -> Option<&'a KnownMachine> {
    let costs = listed
        .iter()
        .filter_map(|machine| Some((machine, machine.cost(plan, asked)?)));
    costs
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(machine, _)| machine)
}

/// Lists the kinds of work that are worth mentioning, and the most expensive in any case.
fn list_work(kinds: &[(CalibratedWork, f64)]) -> String {
    let told = |(index, (work, part)): (usize, &(CalibratedWork, f64))| {
        (index == 0 || *part >= PART_MIN).then(|| format!("{} {work}", percent(*part)))
    };
    let told: Vec<String> = kinds.iter().enumerate().filter_map(told).collect();
    if told.is_empty() {
        "nothing that counts".to_owned()
    } else {
        told.join(", ")
    }
}

/// In whole per cent from 10 on, otherwise to a tenth.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownMachine, KnownMachines};
    use crate::plan_file::Folder;
    use plan::{BuiltinKey, CalibratedWork, Calibration, CalibrationRow, Fingerprint, Group, Plan};

    fn machine(name: &str, slower: f64) -> KnownMachine {
        let full = CalibratedWork::FullHandshake {
            group: Group::ALL[0],
            key: BuiltinKey::P256,
        };
        let row = |(work, cpu_us): (CalibratedWork, f64)| CalibrationRow {
            work,
            cpu_ns: cpu_us * 1e3 * slower,
            rate_per_worker: 1.0,
        };
        let rows = [
            (full, 310.0),
            (CalibratedWork::Request, 30.0),
            (CalibratedWork::Byte, 0.000_001),
        ];
        KnownMachine {
            name: format!("agent {name}"),
            workers: 1,
            calibration: Calibration {
                fingerprint: Fingerprint {
                    cpu_model: String::new(),
                    cpus: 1,
                    cpu_quota: None,
                    kernel: String::new(),
                    version: String::new(),
                },
                measured_at_s: 1_795_305_600,
                disturbed_share: None,
                rows: rows.map(row).to_vec(),
            },
        }
    }

    fn lines(machines: Vec<KnownMachine>, text: &str, agents: u32) -> String {
        let plan = Plan::parse(text, &mut Folder(".".into())).unwrap();
        let known = KnownMachines {
            machines,
            remarks: Vec::new(),
        };
        known.lines(&plan, agents)
    }

    fn open(rate: &str) -> String {
        format!(
            "target.builtin = true\nconnection.requests = 1\ntls.groups = [\"X25519\"]\nload = {{ \
             rate = {rate:?}, duration = \"10s\" }}"
        )
    }

    #[test]
    fn each_agent_is_told_its_part_and_who_is_not_known_is_as_the_least() {
        let both = || vec![machine("a", 1.0), machine("b", 2.0)];
        assert_eq!(
            lines(both(), &open("3000/s"), 3),
            "agent a needs 34 % of its CPU for this plan's share: 31 % full handshakes (X25519, \
             p256), 3.0 % requests (calibrated 2026-11-22)\n\
             agent b needs 68 % of its CPU for this plan's share: 62 % full handshakes (X25519, \
             p256), 6.0 % requests (calibrated 2026-11-22)\n\
             1 more of 3 agents: as agent b, the least capable that is known\n"
        );
        // If there are more agents than are wanted, those that joined last are listed.
        assert!(lines(both(), &open("1000/s"), 1).starts_with("agent b needs 68 %"));
    }

    #[test]
    fn a_share_that_is_too_much_tells_how_many_agents_would_do() {
        let told = lines(vec![machine("a", 1.0)], &open("10000/s"), 2);
        assert!(told.contains("agent a needs 170 % of its CPU"), "{told}");
        assert!(
            told.contains("(calibrated 2026-11-22); 4 such agents would do"),
            "{told}"
        );
    }

    #[test]
    fn a_closed_loop_is_told_the_ceiling() {
        let text = open("1/s").replace("rate = \"1/s\"", "connections = 8");
        let told = lines(vec![machine("a", 1.0)], &text, 1);
        // A second has room for 2,941 operations of 340 µs.
        assert!(
            told.contains("can do about 2941 operations per second"),
            "{told}"
        );
    }

    #[test]
    fn what_is_not_known_is_said_in_a_line() {
        assert!(lines(Vec::new(), &open("1/s"), 2).contains("`agent calibrate`"));
        let plain = "target.builtin.tls = false\nconnection.requests = 1\nload = { rate = \
                     \"1/s\", duration = \"1s\" }";
        let told = lines(vec![machine("a", 1.0)], plain, 1);
        assert!(
            told.contains("is not calibrated for what this plan does"),
            "{told}"
        );
    }
}
