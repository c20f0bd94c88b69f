//! Rows that are to be taken once, while agents and coordinators are killed: none is sent twice.

use crate::servers::data_files::numbers;
use interop::{
    Agent, CoordinatorCommand, Finished, Invited, Nginx, NginxOptions, NginxServer, Pki, Signal,
    play_side_by_side, wait_until,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

const RATE: u64 = 60;
const SECONDS: u64 = 14;
const AGENTS: u32 = 3;

/// nginx, a data file, and a coordinator that waits for agents.
struct Scene {
    nginx: Nginx,
    folder: TempDir,
    state: TempDir,
    /// Whether agents are sent the data file; otherwise they have it.
    send: bool,
}

impl Scene {
    fn new() -> Option<Scene> {
        Scene::with_file(true)
    }

    fn with_file(send: bool) -> Option<Scene> {
        let nginx = Nginx::start(&Pki::new(), &NginxOptions::default())?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.csv"), numbers(RATE * SECONDS)).unwrap();
        Some(Scene {
            nginx,
            folder,
            state: tempfile::tempdir().unwrap(),
            send,
        })
    }

    /// A plan that sends each row once, with these further lines.
    fn plan(&self, more: &str) -> String {
        let (url, file) = (
            self.nginx.url(NginxServer::Plain, "/"),
            self.folder.path().join("d.csv"),
        );
        let (send, requests) = (self.send, RATE * SECONDS);
        format!(
            "name = \"interop\"\ntarget.url = {url:?}\n\
             load = {{ rate = \"{RATE}/s\", max_connections = 12, requests = {requests} }}\n\
             data.d = {{ file = {file:?}, send = {send}, order = \"unique\" }}\n\
             request.path = \"/?row={{d.number}}\"\n{more}\n"
        )
    }

    fn start(&self, more: &str) -> (Invited, Vec<Agent>) {
        self.start_plan(&self.plan(more))
    }

    fn start_plan(&self, plan: &str) -> (Invited, Vec<Agent>) {
        let listen = interop::free_address();
        let invited = Invited::start(AGENTS, listen, self.state.path(), plan);
        let folder = self.folder.path().to_str().unwrap();
        let data = ["--data", folder];
        let data = if self.send { &[][..] } else { &data };
        let join = |number| {
            let name = format!("agent-{number}");
            let arguments = [&["--name", &name][..], data].concat();
            Agent::join(invited.address, &invited.token, &arguments)
        };
        let agents = (0..AGENTS).map(join).collect();
        (invited, agents)
    }

    /// How often each row came.
    fn rows(&self) -> BTreeMap<u64, u64> {
        let mut rows = BTreeMap::new();
        for request in self.nginx.requests() {
            let (_, row) = request.path.split_once("row=").unwrap();
            *rows.entry(row.parse().unwrap()).or_default() += 1;
        }
        rows
    }

    /// Kills `lost` in the middle, and waits for the end. No row may have come twice; returns how
    /// often each came.
    fn finish_without(&self, lost: &Agent, invited: Invited) -> (Finished, BTreeMap<u64, u64>) {
        self.wait_for_rows(2 * RATE);
        lost.signal(Signal::KILL);
        let finished = invited.coordinator.wait();
        let rows = self.rows();
        check_once(&rows, &finished);
        (finished, rows)
    }

    fn wait_for_rows(&self, number: u64) {
        wait_until(&format!("{number} rows"), || {
            (self.nginx.requests().len() as u64 >= number).then_some(())
        });
    }
}

fn check_once(rows: &BTreeMap<u64, u64>, finished: &Finished) {
    let twice: Vec<_> = rows.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}\n{finished}");
}

#[test]
fn agent_that_is_killed_sends_no_row_twice_and_loses_only_its_own() {
    let cases = [("redistribute", false), ("continue", true)];
    let lost = |&(lost, _): &(&str, bool)| lost.to_owned();
    play_side_by_side(cases, 2, lost, |&(lost, send)| {
        if let Some(scene) = Scene::with_file(send) {
            assert_only_own_rows_are_lost(&scene, lost);
        }
        Ok(())
    });
}

fn assert_only_own_rows_are_lost(scene: &Scene, lost: &str) {
    let more = format!("fleet = {{ lost = {lost:?}, lease = \"5s\", max_skew = \"1s\" }}");
    let (invited, agents) = scene.start(&more);
    let (finished, rows) = scene.finish_without(&agents[1], invited);
    let document = finished.clean().document();
    let [data] = &document.data[..] else {
        panic!("{finished}");
    };
    let number = rows.len() as u64;
    let index = document
        .agents
        .iter()
        .position(|agent| agent.unstored.is_some());
    let index = index.unwrap_or_else(|| panic!("{finished}")) as u64;
    let missing: Vec<u64> = (0..RATE * SECONDS)
        .filter(|row| !rows.contains_key(row))
        .collect();
    // Arrivals are dealt in turns, so the rows of an agent are known by their remainder.
    let is_own = |row: &u64| row % u64::from(AGENTS) == index;
    assert!(
        missing.iter().all(is_own),
        "{index}: {missing:?}\n{finished}"
    );
    let shortest = RATE / u64::from(AGENTS);
    assert!(missing.len() as u64 >= shortest, "{missing:?}\n{finished}");
    let most = document.agents[index as usize]
        .unstored
        .unwrap()
        .arrivals
        .unwrap();
    assert!(
        (data.taken..=data.taken + most).contains(&number),
        "{number} came, {} taken, {most} unknown; {finished}",
        data.taken
    );
    assert_eq!(data.distinct, None, "{finished}");
    let told = finished.stdout.replace("\n", " ");
    assert!(told.contains("may or may not have been"), "{finished}");
}

#[test]
fn closed_loop_goes_on_without_the_rows_of_an_agent_that_is_killed() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let plan = scene.plan("fleet = { lost = \"continue\", lease = \"5s\", max_skew = \"1s\" }");
    let (all, users) = (RATE * SECONDS, 12);
    let load = |line: &str| line.starts_with("load = ");
    let closed =
        format!("load = {{ connections = {users}, think_time = \"190ms\", requests = {all} }}");
    let lines = plan
        .lines()
        .map(|line| if load(line) { &closed } else { line });
    let (invited, agents) = scene.start_plan(&lines.collect::<Vec<_>>().join("\n"));
    let (finished, rows) = scene.finish_without(&agents[1], invited);
    let document = finished.clean().document();
    let share = all / u64::from(AGENTS);
    let sent = rows.len() as u64;
    assert!(
        (2 * share + 1..all).contains(&sent),
        "{sent} rows; {finished}"
    );
    // The rows of the last moments before its end may or may not have been stored.
    assert!(
        (2 * share..=sent).contains(&document.data[0].taken),
        "{sent} rows; {finished}"
    );
    assert_eq!(document.data[0].distinct, None, "{finished}");
}

#[test]
fn made_values_come_once_though_an_agent_is_killed() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let plan = scene
        .plan("let = { id = \"uuid\" }\nfleet = { lost = \"redistribute\", lease = \"5s\" }")
        .replace("/?row=", "/?id={id}&row=");
    let (invited, agents) = scene.start_plan(&plan);
    scene.wait_for_rows(2 * RATE);
    agents[1].signal(Signal::KILL);
    let finished = invited.coordinator.wait();
    let _ = finished.clean();
    check_once(&scene.rows(), &finished);
    let requests = scene.nginx.requests();
    let ids: BTreeSet<&str> = requests
        .iter()
        .map(|request| request.path.split_once('&').unwrap().0)
        .collect();
    assert_eq!(ids.len(), requests.len(), "{finished}");
}

/// Goes on with the run of this folder.
pub(crate) fn resume(folder: &Path, more: &[&str]) -> Finished {
    let arguments = ["start", "--resume", folder.to_str().unwrap()];
    CoordinatorCommand::new(&[&arguments, more].concat()).run()
}

#[test]
fn run_that_is_gone_on_with_sends_each_row_once() {
    let Some(scene) = Scene::with_file(false) else {
        return;
    };
    let (invited, agents) = scene.start("fleet = { lease = \"30s\", max_skew = \"1s\" }");
    let folder = invited.coordinator.run_folder();
    scene.wait_for_rows(2 * RATE);
    invited.coordinator.signal(Signal::KILL);
    wait_until("its end", || {
        let is_alone = |agent: &Agent| agent.output().contains("not joined");
        agents.iter().all(is_alone).then_some(())
    });
    let file = scene.folder.path().join("d.csv");
    std::fs::write(&file, numbers(RATE * SECONDS) + "one more\n").unwrap();
    let refused = resume(&folder, &[]);
    assert!(
        refused.stderr.contains("a file that it names, has changed"),
        "{refused}"
    );
    std::fs::write(&file, numbers(RATE * SECONDS)).unwrap();
    let resumed = resume(&folder, &[]);
    let rows = scene.rows();
    check_once(&rows, &resumed);
    assert_eq!(rows.len() as u64, RATE * SECONDS, "{resumed}");
    let bytes = std::fs::read(folder.join("result.json")).unwrap();
    let document = report::read(&bytes).unwrap();
    let data = &document.data[0];
    assert_eq!(
        (data.taken, data.distinct),
        (RATE * SECONDS, Some(RATE * SECONDS)),
        "{resumed}"
    );
}

#[test]
fn run_that_is_made_anew_warns_of_rows_that_come_twice() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let plan = scene
        .plan("repeat.times = 2")
        .replace("requests = 840", "requests = 180");
    let mut coordinator = CoordinatorCommand::local(2, &plan).spawn();
    let _ = coordinator.wait_for("each of the 2 runs begins with its first row again");
    scene.wait_for_rows(RATE);
    coordinator.signal(Signal::KILL);
    let killed = coordinator.wait();
    let resumed = resume(&killed.run_folder().unwrap(), &["--local", "--agents=2"]);
    let warning = "begins with the first row of data.d again";
    assert!(resumed.stderr.contains(warning), "{resumed}");
}
