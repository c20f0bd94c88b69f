//! `coordinator check`: what a plan would run, and each agent's exact share of it. Starts nothing.

mod expenses;
mod runs;
#[cfg(feature = "load")]
mod samples;
mod shares;
mod words;

use crate::exit::Exit;
use crate::set_args::SetArgs;
use crate::{plan_file, terminal};
use clap::Args;
use expenses::KnownMachines;
use plan::{Campaign, Plan, Variant};
use std::path::PathBuf;

/// `coordinator check`, as typed.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Number of agents among which the load is divided
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    pub agents: u32,
    /// Folder of the coordinator whose agents' calibrations count, as `start --state` named it; if
    /// none of them is known, this machine's counts [default: cannonade in XDG_STATE_HOME, or in
    /// ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print the plan with defaults written out, as agents get it, but without the values of
    /// secrets, and its digest as a comment
    #[arg(long)]
    pub canonical: bool,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// File of the plan; - is standard input
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
}

/// Prints what would be run.
///
/// # Errors
/// Standard output cannot be written.
pub fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let campaign = match plan_file::read(&args.plan, &args.set) {
        Ok(read) => read.campaign,
        Err(error) => {
            terminal::say(error);
            return Ok(Exit::Usage);
        }
    };
    if let Some(problem) = crate::launch::unfit(&campaign, args.agents) {
        terminal::say(problem);
        return Ok(Exit::Usage);
    }
    let state = args.state.clone().or_else(command_line::state_folder);
    let known = || KnownMachines::find(state.as_deref());
    let text = match (args.canonical, campaign.single()) {
        (true, _) => canonical_of_each(&campaign),
        (false, Some(plan)) => describe(plan, args.agents, &known()),
        (false, None) => runs::describe(&campaign, args.agents, &known()),
    };
    terminal::print(&text)?;
    Ok(Exit::Passed)
}

/// The canonical text of each variant's plan, with names if there are several.
fn canonical_of_each(campaign: &Campaign) -> String {
    let named =
        |variant: &Variant| format!("# variant {}\n{}", variant.name, canonical(&variant.plan));
    match campaign.single() {
        Some(plan) => canonical(plan),
        None => campaign
            .variants()
            .iter()
            .map(named)
            .collect::<Vec<String>>()
            .join("\n"),
    }
}

fn canonical(plan: &Plan) -> String {
    let secrets = plan.secrets();
    let but = if secrets.is_empty() {
        String::new()
    } else {
        format!(
            " with the values of {}, which are not shown",
            secrets.join(", ")
        )
    };
    let (digest, text) = (plan.digest(), plan.masked_text());
    format!("# sha256 {digest} of the lines below{but}\n{text}")
}

/// Describes the plan, with the table of shares and what they need of the agents.
fn describe(plan: &Plan, agents: u32, known: &KnownMachines) -> String {
    let mut text = format!("plan {}, digest {}\n\n", plan.name(), plan.digest());
    text.push_str(&lines(&words::paragraphs(plan)));
    text.push('\n');
    text.push_str(&shares::table(plan, agents));
    text.push('\n');
    text.push_str(&known.lines(plan, agents));
    #[cfg(feature = "load")]
    text.push_str(&samples::describe(plan));
    for note in plan.notes() {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}

/// Writes subjects with their lines beside them.
fn lines(paragraphs: &[(&'static str, Vec<String>)]) -> String {
    let mut text = String::new();
    for (subject, lines) in paragraphs {
        for (index, line) in lines.iter().enumerate() {
            let subject = if index == 0 { subject } else { "" };
            text.push_str(format!("{subject:12}{line}").trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{KnownMachines, describe};
    use crate::plan_file::Folder;
    use plan::Plan;

    fn described(text: &str, agents: u32) -> String {
        let plan = Plan::parse(text, &mut Folder(".".into())).unwrap();
        describe(&plan, agents, &KnownMachines::default())
    }

    /// The first line has the digest, which is tested in `plan`.
    fn without_digest(text: &str) -> &str {
        text.split_once("\n\n").unwrap().1
    }

    #[test]
    fn closed_loop_is_described_with_each_share() {
        let plan = r#"
            name = "edge"
            target.url = "https://edge.test:8443/index.html"
            target.addresses = ["10.0.0.11", "10.0.0.12:9443"]
            connection = { requests = 1 }
            tls.versions = ["1.3"]
            tls.cipher_suites = ["TLS_AES_256_GCM_SHA384"]
            tls.groups = ["X25519"]
            tls.verify = "none"
            load = { connections = 10, requests = 1001, warm_up = "10s" }
            thresholds = { "response_time.p99" = "<= 250ms", "errors.share" = "<= 0.001" }
            request = [
                { name = "index", weight = 3, headers = { accept = "*/*" } },
                { method = "POST", path = "/a", body = "12345" },
            ]
        "#;
        let expected = "\
target      https://edge.test:8443/index.html
            connecting to 10.0.0.11, 10.0.0.12:9443, in turn
requests     75 %  GET /index.html as \"index\", 1 header; ok: status 100-399
             25 %  POST /a, body of 5 bytes; ok: status 100-399
connection  1 request each, closed by us (FIN), HTTP/1.1
            time-outs: connect 5s, handshake 5s, request 30s
tls         version 1.3
            suite TLS_AES_256_GCM_SHA384
            group X25519
            server not verified; fresh keys; never resumed; no ALPN
load        closed loop: 10 virtual users
            warm-up 10s, then until 1001 operations have ended
thresholds  response_time.p99 <= 250ms
            errors.share <= 0.001

agent  connections  requests
    1            3       300
    2            3       300
    3            4       401
  all           10      1001

how much of its CPU an agent needs is not known; `agent calibrate` on its machine would tell

note: tls.resumption";
        let text = described(plan, 3);
        let shown = without_digest(&text).split("\nnote").next().unwrap();
        assert_eq!(shown, expected.split("\nnote").next().unwrap());
    }

    #[test]
    fn open_loop_is_described_with_each_share() {
        let plan = r#"
            target = { builtin = true }
            connection = { requests = 0 }
            tls = { resumption = { share = 0.8 } }
            load = { rate = "100/s", arrivals = "poisson", max_connections = 7, stage = [
                { over = "1m", to = "200/s" }, { over = "30s" },
            ] }
        "#;
        let text = described(plan, 2);
        let lines: Vec<&str> = text.lines().collect();
        for line in [
            "target      the built-in target (HTTPS, P-256 key, 1024 bytes), started with the run",
            "            suites all 9 that rustls has",
            "requests    none: each operation is a connection with its handshake",
            "connection  handshake only, closed by us (FIN) and confirmed by the server's end",
            "load        open loop: 100/s, Poisson arrivals, at most 7 connections",
            "            1m to 200/s, then 30s at 200/s",
            "            ends after 90s",
            "thresholds  none",
            "agent   rate  at most  connections",
            "    1   50/s    100/s      up to 3",
            "    2   50/s    100/s      up to 4",
            "  all  100/s    200/s      up to 7",
        ] {
            assert!(lines.contains(&line), "{line:?} is not in\n{text}");
        }
    }
}
