//! Evaluates all rules, in the order in which they depend on one another.

use super::counted_seconds::{Carried, CountedSeconds};
use super::sign::{Watched, WatchedRows};
use super::slow_answers::may_be_slow_by_themselves;
use super::throughput::{self, MonitorsSaw};
use super::wanted::pardons;
use super::{
    RuleBound, RuleId, RuleReading, client, errors_by_load, faults, load, network, path,
    plan_limit, server,
};
use crate::{Document, MachineResult, MachineRole};

/// A single fault is one too many.
const ANY: RuleBound = RuleBound::new("any", &[]);

/// The readings of all rules.
pub(super) struct VerdictReadings {
    /// Faults that make the run worthless.
    pub(super) fatal: Vec<RuleReading>,
    /// Faults that the plan allows.
    pub(super) tolerated: Vec<RuleReading>,
    /// Lateness that the client itself caused.
    pub(super) lateness: Vec<RuleReading>,
    /// Resources of the client.
    pub(super) client: Vec<RuleReading>,
    /// Machines that client and server share.
    pub(super) shared: Vec<RuleReading>,
    /// Whether the load was sent and carried.
    pub(super) load: Vec<RuleReading>,
    /// Resources of the server, and whether throughput follows the load.
    pub(super) server: Vec<RuleReading>,
    /// Everything between client and server.
    pub(super) network: Vec<RuleReading>,
    /// The plan's limit on what is under way.
    pub(super) plan: Vec<RuleReading>,
    has_errors: bool,
}

impl VerdictReadings {
    pub(super) fn new(document: &Document) -> VerdictReadings {
        let faults = faults::all(document);
        let lateness = client::lateness(document);
        let load = load::readings(document);
        let has_errors = load::has_errors(document);
        let is_missed = has_errors || speaks(&load) || speaks(&lateness);
        let carried = if is_missed {
            Carried::NotWholly
        } else {
            Carried::Wholly
        };
        let of_client = CountedSeconds::of_client(document, carried);
        let under_load = CountedSeconds::under_load(document, carried);
        let monitors = monitors(document, &under_load);
        let agents = client::all_agents(document, &under_load);

        let mut server = server::readings(&monitors);
        if path::is_all_round_trip(document) {
            server.iter_mut().for_each(|reading| reading.says = None);
        }
        let seen = if monitors.is_empty() && document.is_watched() {
            MonitorsSaw::OtherSeconds
        } else if monitors.is_empty() {
            MonitorsSaw::Nothing
        } else if !speaks(&server)
            && all_monitors(document).all(|one| {
                // A monitor that was restarted is there twice.
                let mut same = all_monitors(document).filter(|other| is_same_machine(one, other));
                same.any(|other| !under_load.rows(&other.rows).is_empty())
            })
            && server::saw_room(&monitors)
        {
            MonitorsSaw::Room
        } else {
            MonitorsSaw::NoRoom
        };
        let network = network::readings(document, &agents, &monitors, seen == MonitorsSaw::Room);
        let is_in_doubt =
            network::is_suspect(document, &network) || may_be_slow_by_themselves(document);
        server.push(throughput::reading(document, seen, is_in_doubt));
        server.push(errors_by_load::reading(document));
        server.push(path::round_trip(document));
        let shared = client::read_shared_machine(document, &under_load);
        let is_blamed = is_in_doubt || speaks(&server) || speaks(&network) || speaks(&shared);
        let plan = vec![plan_limit::reading(document, is_blamed)];
        let client = client::readings(document, &of_client);
        let mut fatal = of_faults(RuleId::Faults, faults.fatal);
        fatal.push(client::read_stand_still(document, &client));
        VerdictReadings {
            fatal,
            tolerated: of_faults(RuleId::LostAgents, faults.tolerated),
            lateness,
            client,
            shared,
            load,
            server,
            network,
            plan,
            has_errors,
        }
    }

    /// Returns all readings, in the order in which they count.
    pub(super) fn in_order(self) -> Vec<RuleReading> {
        let groups = [
            self.fatal,
            self.tolerated,
            self.lateness,
            self.client,
            self.load,
            self.plan,
            self.shared,
            self.server,
            self.network,
        ];
        groups.into_iter().flatten().collect()
    }

    /// Returns whether an open loop's load was sent in time and answered.
    pub(super) fn is_met(&self) -> bool {
        !speaks(&self.load) && !self.has_errors
    }
}

fn speaks(readings: &[RuleReading]) -> bool {
    readings.iter().any(|reading| reading.says.is_some())
}

/// Returns the evidence of the rules that fire.
pub(super) fn evidence_of(readings: &[RuleReading]) -> Vec<String> {
    let says = readings.iter().filter_map(|reading| reading.says.clone());
    says.collect()
}

/// Returns the evidence in favour of what these rules would blame.
pub(super) fn acquittals_of(readings: &[RuleReading]) -> impl Iterator<Item = String> {
    readings
        .iter()
        .filter_map(|reading| reading.acquits.clone())
}

/// Creates a reading for each fault, or one that reports that there is none.
fn of_faults(rule: RuleId, faults: Vec<String>) -> Vec<RuleReading> {
    let number = faults.len();
    let says = faults.into_iter().map(Some);
    let says: Vec<Option<String>> = if number == 0 {
        vec![None]
    } else {
        says.collect()
    };
    let readings = says.into_iter().map(|says| RuleReading {
        rule,
        says,
        acquits: None,
        figure: number.to_string(),
        bound: ANY,
        distance: Some(number as f64),
    });
    readings.collect()
}

fn is_same_machine(one: &MachineResult, other: &MachineResult) -> bool {
    (&one.name, &one.facts.hostname) == (&other.name, &other.facts.hostname)
}

fn all_monitors(document: &Document) -> impl Iterator<Item = &MachineResult> {
    let machines = document.machines.iter();
    machines.filter(|machine| machine.role == MachineRole::Monitor)
}

/// Returns the machines that monitors watched, in these seconds.
fn monitors<'a>(document: &'a Document, seconds: &CountedSeconds) -> Vec<Watched<'a>> {
    let watched = all_monitors(document).filter_map(|machine| {
        let rows = seconds.rows(&machine.rows);
        let who = format!("monitor {}", machine.name);
        (!rows.is_empty()).then(|| Watched {
            who,
            pardons: pardons(document, machine, &rows),
            rows: WatchedRows::BySecond(rows),
            due_seconds: seconds.number(),
        })
    });
    watched.collect()
}
