//! The request that the fleet gets for a run, and what must hold before one can be made.

use crate::mint::{self, Mint};
use crate::own_agents;
use crate::planned_run::PlannedRun;
use control::{Audience, Digest, FILES_MAX_BYTES, FleetRules, LostPolicy};
use control::{PLAN_MAX_BYTES, RunFile, RunRequest};
use measure::Totals;
use plan::{
    Campaign, Capacity, End, File, FleetPlan, LostAgents, Owner, Plan, Search, SearchRange, Sha256,
};
use proto::Bytes;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Says why a fleet of `agents` agents cannot run what the file asks for, if it cannot.
pub(crate) fn unfit(campaign: &Campaign, agents: u32) -> Option<String> {
    let plans = || campaign.variants().iter().map(|variant| &variant.plan);
    let problem = plans().find_map(|plan| {
        let size = too_large(plan).or_else(|| too_many_cells(plan));
        size.or_else(|| too_large_files(plan.files()))
            .or_else(|| mint::problem(plan))
            .or_else(|| too_narrow(plan, campaign.search(), agents))
    });
    problem
        .or_else(|| too_few_agents(campaign.search()?, agents))
        .or_else(|| own_agents::unusable_certificate(plans()))
}

fn too_few_agents(search: &Search, agents: u32) -> Option<String> {
    let Search::Agents(numbers) = search else {
        return None;
    };
    let most = numbers.iter().max().filter(|&&most| most > agents)?;
    Some(format!(
        "search.agents: asks for {most} agents, and --agents is {agents}; write --agents {most}"
    ))
}

/// An agent without a connection would leave its part of the load undone.
fn too_narrow(plan: &Plan, search: Option<&Search>, agents: u32) -> Option<String> {
    let is_of_users =
        |capacity: &Capacity| matches!(capacity.range, SearchRange::Connections { .. });
    match search {
        // Every agent carries the whole plan.
        Some(Search::Agents(_)) => None,
        // Users may be fewer than agents: every hold ends by time, so nothing is left undone.
        Some(Search::Capacity(capacity)) if is_of_users(capacity) => None,
        _ => plan
            .check_fleet(agents)
            .err()
            .map(|problem| problem.to_string()),
    }
}

/// Addresses of names that are resolved are counted by the agents when they prepare the run.
fn too_many_cells(plan: &Plan) -> Option<String> {
    let requests = plan.requests().len();
    let addresses = plan.target().addresses.len().max(1);
    let cells = Totals::cells_of(requests, addresses);
    let most = Totals::CELLS_MAX;
    (cells > most).then(|| {
        format!(
            "request: {requests} requests at {addresses} addresses are kept apart as {cells} \
             cells, and a run has {most} at most; use fewer requests, or fewer addresses"
        )
    })
}

fn too_large(plan: &Plan) -> Option<String> {
    let bytes = plan.canonical_text().len();
    (bytes > PLAN_MAX_BYTES).then(|| {
        format!(
            "the plan has {bytes} bytes with its defaults written out; {PLAN_MAX_BYTES} is the \
             most: put bodies into files"
        )
    })
}

/// Agents refuse more than they hold in memory, and would say so only once they are to get ready.
fn too_large_files(mut files: Vec<&File>) -> Option<String> {
    files.sort_by_key(|file| file.sha256);
    files.dedup_by_key(|file| file.sha256);
    let bytes: u64 = files.iter().map(|file| file.content.len() as u64).sum();
    let largest = files.iter().max_by_key(|file| file.content.len())?;
    (bytes > FILES_MAX_BYTES).then(|| {
        format!(
            "the plan names {} files of {bytes} bytes in all, {} of them in {:?}, and an agent \
             takes at most {FILES_MAX_BYTES}: name fewer or smaller files; data files and the log \
             of a replay may be packed by gzip",
            files.len(),
            largest.content.len(),
            largest.name
        )
    })
}

/// Makes the request for a run. Takes a second if thousands of identities are minted.
pub(super) fn new(run: &PlannedRun) -> anyhow::Result<RunRequest> {
    let plan = &run.plan;
    let mut files = RunFiles::default();
    for file in plan.files() {
        // The plan's own bytes: a data file can be large.
        let content = Bytes::from_owner(Arc::clone(&file.content));
        files.add(file.sha256, content, &Audience::All);
    }
    files.let_store(plan);
    add_client_certificates(&mut files, plan, run.agents);
    let minted = mint(&mut files, plan, run.agents)?;
    Ok(RunRequest {
        files: files.0.into_values().collect(),
        minted,
        ..without_files(run)
    })
}

/// Makes the request for a run that has started: its agents have all files.
pub(super) fn without_files(run: &PlannedRun) -> RunRequest {
    let plan = &run.plan;
    let agents = run.agents;
    let text = plan.canonical_text();
    let load = plan.load();
    // If a number of requests ends the run, it is not known how long agents fire.
    let firing = match load.end {
        End::Duration(duration) => Some(load.warm_up + duration),
        End::Requests(_) => None,
    };
    let mapped = plan.data().iter().filter_map(|data| data.place.mapped());
    RunRequest {
        run: run.id,
        name: plan.name().to_owned(),
        plan_digest: Digest::from_content(text.as_bytes()),
        plan: text.into(),
        files: Vec::new(),
        unsent_bytes: mapped.map(|file| file.text().len() as u64).sum(),
        minted: Vec::new(),
        agents,
        firing,
        drain: plan.connection().timeouts.longest(),
        epoch: run.epoch,
        rules: rules(plan.fleet(), agents),
        force: run.force,
        tokens: Vec::new(),
    }
}

/// The plan's rules for a fleet of `agents` agents.
fn rules(fleet: &FleetPlan, agents: u32) -> FleetRules {
    FleetRules {
        lease: fleet.lease(),
        lost: match fleet.lost() {
            LostAgents::Fail => LostPolicy::Fail,
            LostAgents::Continue => LostPolicy::Continue,
            LostAgents::Redistribute => LostPolicy::Redistribute,
        },
        tolerate: fleet.tolerate().agents_of(agents),
        join_timeout: fleet.join_timeout(),
        max_skew: fleet.max_skew(),
    }
}

/// Each content once, whatever the plan calls it, for all agents that need it. A file for all
/// agents stays so even if single agents are given it too. Only a certificate can be both: the
/// reader of plans refuses a body that is also a private key.
#[derive(Default)]
struct RunFiles(BTreeMap<Digest, RunFile>);

impl RunFiles {
    /// Lets agents keep data files without secret columns, and replay files, on their disks. All
    /// else can be a secret, or is small.
    fn let_store(&mut self, plan: &Plan) {
        let public = plan.data().iter().filter(|data| data.secret.is_empty());
        let replays = plan.replay().into_iter().map(|replay| &replay.file);
        for file in public.map(|data| &data.file).chain(replays) {
            if let Some(file) = self.0.get_mut(&Digest(file.sha256.0)) {
                file.is_storable = true;
            }
        }
        // The same content can be marked under another name.
        let secret = plan.data().iter().filter(|data| !data.secret.is_empty());
        for data in secret {
            if let Some(file) = self.0.get_mut(&Digest(data.file.sha256.0)) {
                file.is_storable = false;
            }
        }
    }

    fn add(&mut self, sha256: Sha256, content: Bytes, audience: &Audience) {
        let sha256 = Digest(sha256.0);
        let known = match self.0.entry(sha256) {
            Entry::Vacant(place) => {
                place.insert(RunFile {
                    sha256,
                    content: content.into(),
                    audience: audience.clone(),
                    is_storable: false,
                });
                return;
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        match (&mut known.audience, audience) {
            (Audience::Only(those), Audience::Only(more)) => those.extend(more),
            (known, Audience::All) => *known = Audience::All,
            (Audience::All, Audience::Only(_)) => {}
        }
    }
}

/// Adds client certificates and keys, for the agents whose virtual users have them and for no
/// other.
fn add_client_certificates(files: &mut RunFiles, plan: &Plan, agents: u32) {
    let pairs = plan
        .tls()
        .map_or(&[][..], |tls| tls.client_certificates.files());
    if pairs.is_empty() {
        return;
    }
    for agent in 0..agents {
        for place in identities(plan, agent, agents) {
            for file in [&pairs[place].cert, &pairs[place].key] {
                let content = Bytes::copy_from_slice(file.bytes().unwrap_or_default());
                files.add(file.sha256, content, &Audience::Only(vec![agent]));
            }
        }
    }
}

/// Mints what the agents' virtual users need, gives each agent a file with its own, and returns the
/// files' digests by agent.
fn mint(files: &mut RunFiles, plan: &Plan, agents: u32) -> anyhow::Result<Vec<Digest>> {
    let Some(minting) = plan.tls().and_then(|tls| tls.client_certificates.minting()) else {
        return Ok(Vec::new());
    };
    let mint = Mint::open(minting)?;
    let shares: Vec<BTreeSet<usize>> = (0..agents)
        .map(|agent| identities(plan, agent, agents))
        .collect();
    let all = mint.identities(&shares.iter().flatten().copied().collect())?;
    let mut digests = Vec::new();
    for (agent, share) in (0..agents).zip(&shares) {
        let encoded = mint.share(&all, share).encode();
        let sha256 = Sha256::hash(&encoded);
        let content = Bytes::copy_from_slice(&encoded);
        files.add(sha256, content, &Audience::Only(vec![agent]));
        digests.push(Digest(sha256.0));
    }
    Ok(digests)
}

fn identities(plan: &Plan, agent: u32, agents: u32) -> BTreeSet<usize> {
    plan.identities(Owner {
        agent,
        agents,
        ..Owner::ALONE
    })
}

#[cfg(test)]
mod tests {
    use super::{new, too_large_files};
    use crate::planned_run::PlannedRun;
    use control::{Audience, Digest, FleetRules, LostPolicy, RunRequest};
    use plan::{File, Files, Plan, Sha256};
    use std::sync::Arc;
    use std::time::Duration;

    /// Holds a certificate or key for each name; `same.key` has the content of `0.key`.
    struct Folder;

    impl Files for Folder {
        fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
            let kind = if name.ends_with("key") {
                "PRIVATE KEY"
            } else {
                "CERTIFICATE"
            };
            let name = if name == "same.key" { "0.key" } else { name };
            Ok(format!("{name}\n-----BEGIN {kind}-----\n")
                .into_bytes()
                .into())
        }
    }

    fn request(plan: &Plan, agents: u32) -> anyhow::Result<RunRequest> {
        let run = PlannedRun::new(plan.clone(), String::new(), agents, String::new())?;
        new(&run)
    }

    /// The agents that get the file of this name; `None` if all do.
    fn audience(request: &RunRequest, name: &str) -> Option<Vec<u32>> {
        let digest = Digest::from_content(&Folder.read(name).unwrap());
        let found: Vec<_> = request
            .files
            .iter()
            .filter(|file| file.sha256 == digest)
            .collect();
        assert_eq!(found.len(), 1, "{name} is sent once");
        match &found[0].audience {
            Audience::All => None,
            Audience::Only(agents) => Some(agents.clone()),
        }
    }

    #[test]
    fn key_goes_only_to_agents_whose_users_have_it() {
        let plan = |load: &str, identities: usize| {
            let pair = |nth| format!("{{ cert = \"{nth}.pem\", key = \"{nth}.key\" }}");
            let pairs = (0..identities)
                .map(pair)
                .collect::<Vec<String>>()
                .join(", ");
            let tls = format!("tls = {{ ca = \"ca.pem\", client_certificates = [{pairs}] }}");
            Plan::parse(
                &format!("target.url = \"https://a.test\"\nload = {load}\n{tls}"),
                &mut Folder,
            )
            .unwrap()
        };
        let closed = "{ connections = 8, requests = 8 }";
        let open = "{ rate = \"8/s\", max_connections = 8, requests = 8 }";
        for load in [closed, open] {
            // Users are dealt to the agents in turn, and so are identities.
            for (identities, agents, expected) in [
                (2, 2, vec![vec![0], vec![1]]),
                (2, 1, vec![vec![0], vec![0]]),
                (3, 2, vec![vec![0, 1], vec![0, 1], vec![0, 1]]),
                (4, 2, vec![vec![0], vec![1], vec![0], vec![1]]),
                (4, 4, vec![vec![0], vec![1], vec![2], vec![3]]),
            ] {
                let request = request(&plan(load, identities), agents).unwrap();
                assert_eq!(audience(&request, "ca.pem"), None);
                for (nth, agents) in expected.into_iter().enumerate() {
                    assert_eq!(
                        audience(&request, &format!("{nth}.key")),
                        Some(agents.clone()),
                        "{load} {identities} {nth}"
                    );
                    assert_eq!(audience(&request, &format!("{nth}.pem")), Some(agents));
                }
            }
            // Users 8 and above do not exist, so no agent needs their keys.
            assert_eq!(request(&plan(load, 10), 2).unwrap().files.len(), 1 + 2 * 8);
        }
        let shared = "tls.client_certificates = [{ cert = \"0.pem\", key = \"0.key\" }, { cert = \
                      \"1.pem\", key = \"same.key\" }]";
        let shared = format!("target.url = \"https://a.test\"\nload = {closed}\n{shared}");
        let request = request(&Plan::parse(&shared, &mut Folder).unwrap(), 2).unwrap();
        assert_eq!(audience(&request, "0.key"), Some(vec![0, 1]));
    }

    #[test]
    fn more_bytes_of_files_than_agents_take_are_told_before_the_start() {
        let file = |name: &str, bytes: usize| File {
            name: name.to_owned(),
            sha256: Sha256::hash(name.as_bytes()),
            content: std::iter::repeat_n(0, bytes).collect(),
        };
        let large = file("large.csv", 64 << 20);
        let mut files: Vec<File> = (0..16).map(|_| large.clone()).collect();
        let told = |files: &[File]| too_large_files(files.iter().collect());
        files.push(file("small.csv", 1));
        assert_eq!(told(&files), None, "one content is sent once");
        for (nth, file) in files.iter_mut().enumerate() {
            file.sha256 = Sha256::hash(&[nth as u8]);
        }
        let problem = told(&files).unwrap();
        let told_of = "17 files of 1073741825 bytes in all, 67108864 of them in \"large.csv\"";
        assert!(problem.contains(told_of), "{problem}");
        files.pop();
        assert_eq!(told(&files), None);
    }

    #[test]
    fn fleet_gets_the_rules_of_the_plan() {
        let of_fleet = |fleet: &str, agents| {
            let text = format!(
                "target.url = \"http://a.test\"\nload = {{ connections = 9, duration = \"9s\" \
                 }}\nfleet = {{ {fleet} }}"
            );
            let plan = Plan::parse(&text, &mut Folder).unwrap();
            request(&plan, agents).unwrap().rules
        };
        let default = FleetRules {
            max_skew: Duration::from_millis(50),
            ..FleetRules::default()
        };
        assert_eq!(of_fleet("", 3), default);
        let text = "lost = \"redistribute\", tolerate = \"34%\", join_timeout = \"90s\", lease = \
                    \"30s\", max_skew = \"130ms\"";
        let expected = FleetRules {
            lease: Duration::from_secs(30),
            lost: LostPolicy::Redistribute,
            tolerate: 1,
            join_timeout: Some(Duration::from_secs(90)),
            max_skew: Duration::from_millis(130),
        };
        assert_eq!(of_fleet(text, 3), expected);
    }
}
