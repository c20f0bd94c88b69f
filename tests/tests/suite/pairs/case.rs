//! One case: a value for each axis, and the plan and agents that result.

use std::fmt::Write as _;

/// The axes, each with the names of its values.
pub(crate) const AXES: [(&str, &[&str]); 8] = [
    ("load", &LOADS),
    ("ends by", &["duration", "requests"]),
    ("before it", &["nothing", "warm-up"]),
    ("connections", &CONNECTIONS),
    ("runs", &RUNS),
    ("agents", &["1 × 1 worker", "3 × 3 workers"]),
    ("who", &["local", "joined", "joined and a monitor"]),
    ("fault", &FAULTS),
];

const LOADS: [&str; 6] = [
    "users",
    "users with pauses",
    "users in stages",
    "even rate",
    "Poisson rate",
    "rate in stages",
];
const CONNECTIONS: [&str; 5] = [
    "kept",
    "3 requests",
    "closed by the server",
    "reset",
    "handshakes alone",
];
const RUNS: [&str; 6] = [
    "one",
    "repeats",
    "matrix",
    "search of a rate",
    "search of users",
    "search of agents",
];
const FAULTS: [&str; 5] = [
    "none",
    "Ctrl-C",
    "coordinator killed, resumed",
    "agent killed, continue",
    "agent killed, redistribute",
];

/// What goes wrong under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    CtrlC,
    Resumed,
    Lost,
}

/// A value for each axis, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case(pub(crate) [usize; AXES.len()]);

impl Case {
    /// The first value of each axis.
    pub(crate) const PLAIN: Case = Case([0; AXES.len()]);

    /// The same case with another value of one axis.
    pub(crate) fn with(mut self, axis: usize, value: usize) -> Case {
        self.0[axis] = value;
        self
    }

    /// Its values as words.
    pub(crate) fn words(self) -> [&'static str; AXES.len()] {
        std::array::from_fn(|axis| AXES[axis].1[self.0[axis]])
    }

    pub(crate) fn agents(self) -> u32 {
        match (self.runs(), self.0[5]) {
            ("search of agents", _) => 2,
            (_, 0) => 1,
            _ => 3,
        }
    }

    pub(crate) fn workers(self) -> u32 {
        if self.0[5] == 0 { 1 } else { 3 }
    }

    pub(crate) fn is_local(self) -> bool {
        self.0[6] == 0
    }

    pub(crate) fn has_monitor(self) -> bool {
        self.0[6] == 2
    }

    pub(crate) fn fault(self) -> Fault {
        match self.0[7] {
            0 => Fault::Nothing,
            1 => Fault::CtrlC,
            2 => Fault::Resumed,
            _ => Fault::Lost,
        }
    }

    /// An operation is a connection, and no request is sent.
    pub(crate) fn is_handshake_only(self) -> bool {
        CONNECTIONS[self.0[3]] == "handshakes alone"
    }

    /// Whether several runs search for something, with amounts that the search chooses.
    pub(crate) fn is_search(self) -> bool {
        self.runs().starts_with("search")
    }

    /// A lost local agent is not replaced, so later runs cannot be made.
    pub(crate) fn ends_with_its_agent(self) -> bool {
        self.fault() == Fault::Lost && self.is_local() && self.runs() != "one"
    }

    /// Measured operations of each run, if the plan states their number.
    pub(crate) fn requests(self) -> Option<u64> {
        let each = if self.fault() == Fault::Nothing {
            23
        } else {
            300
        };
        (self.0[1] == 1 && !self.is_search()).then_some(each)
    }

    fn runs(self) -> &'static str {
        RUNS[self.0[4]]
    }

    /// Whether it makes no sense here, though a plan may say it.
    pub(crate) fn has_no_meaning(self) -> bool {
        // Local agents end with their coordinator, so a resumed run would have no agents.
        self.is_local() && self.fault() == Fault::Resumed
    }

    /// Its plan, for this URL.
    pub(crate) fn plan(self, url: &str) -> String {
        let mut plan = format!("name = \"pairs\"\ntarget.url = {url:?}\n{}\n", self.load());
        plan.push_str(match CONNECTIONS[self.0[3]] {
            "3 requests" => "connection.requests = 3\n",
            "closed by the server" => "connection = { requests = 1, close = \"server\" }\n",
            "reset" => "connection = { requests = 1, close = \"rst\" }\n",
            "handshakes alone" => "connection.requests = 0\n",
            _ => "",
        });
        let (hold, pause) = self.pace();
        let _ = match self.runs() {
            "repeats" => writeln!(plan, "repeat = {{ times = 2, pause = {pause:?} }}"),
            "matrix" => writeln!(plan, "matrix = {{ \"load.seed\" = [1, 2] }}"),
            "search of a rate" => writeln!(
                plan,
                "search = {{ rate = {{ from = \"20/s\", to = \"60/s\" }}, hold = {hold:?}, \
                 precision = 0.5, settle = \"0s\" }}"
            ),
            "search of users" => writeln!(
                plan,
                "search = {{ connections = {{ from = 3, to = 6 }}, hold = {hold:?}, precision = \
                 0.5, settle = \"0s\" }}"
            ),
            "search of agents" => writeln!(plan, "search.agents = [1, 2]"),
            _ => Ok(()),
        };
        plan.push_str(match FAULTS[self.0[7]] {
            "agent killed, continue" => "fleet = { lost = \"continue\", lease = \"2s\" }\n",
            "agent killed, redistribute" => "fleet = { lost = \"redistribute\", lease = \"2s\" }\n",
            "coordinator killed, resumed" => "fleet.lease = \"30s\"\n",
            _ => "",
        });
        plan
    }

    /// Length of a hold, and of the pause between runs.
    fn pace(self) -> (&'static str, &'static str) {
        if self.fault() == Fault::Nothing {
            ("600ms", "100ms")
        } else {
            ("3s", "100ms")
        }
    }

    fn load(self) -> String {
        let (amount, stages) = match LOADS[self.0[0]] {
            "users" => ("connections = 5", ""),
            "users with pauses" => (
                "connections = 5, think_time = { min = \"10ms\", max = \"30ms\" }",
                "",
            ),
            "users in stages" => (
                "connections = 3",
                "stage = [{ over = \"400ms\", to = 5 }, { over = \"200ms\" }]",
            ),
            "even rate" => ("rate = \"60/s\", max_connections = 6", ""),
            "Poisson rate" => (
                "rate = \"60/s\", arrivals = \"poisson\", max_connections = 6",
                "",
            ),
            "rate in stages" => (
                "rate = \"30/s\", max_connections = 6",
                "stage = [{ over = \"500ms\", to = \"60/s\" }]",
            ),
            _ => unreachable!("every load has a plan"),
        };
        let length = if self.fault() == Fault::Nothing {
            "1100ms"
        } else {
            "5s"
        };
        let end = match (self.requests(), self.0[1]) {
            (Some(requests), _) => format!("requests = {requests}"),
            (None, 1) => "requests = 50".to_owned(),
            _ => format!("duration = {length:?}"),
        };
        let warm_up = if self.0[2] == 1 {
            "warm_up = \"350ms\""
        } else {
            ""
        };
        let parts = [amount, &end, warm_up, stages];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("load = {{ {} }}", parts.join(", "))
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words().join(" × "))
    }
}
