//! Data files that agents have in a folder of their own: each row comes once, and nothing is fired
//! unless every agent has the right file.

use crate::servers::data_files::numbers;
use interop::{
    Agent, CoordinatorCommand, Invited, Nginx, NginxOptions, NginxServer, Pki, Signal, plan,
};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;

const ROWS: u64 = 300;

/// nginx, and a coordinator whose plan names a file that it does not send.
struct Scene {
    nginx: Nginx,
    folder: TempDir,
    state: TempDir,
    text: String,
}

impl Scene {
    fn new() -> Option<Scene> {
        let pki = Pki::new();
        let nginx = Nginx::start(&pki, &NginxOptions::default())?;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("d.csv");
        std::fs::write(&file, numbers(ROWS)).unwrap();
        let more = format!(
            "load = {{ connections = 6, requests = {ROWS} }}\n\
             data.d = {{ file = {file:?}, send = false, order = \"unique\" }}\n\
             request.path = \"/?row={{d.number}}\"\n"
        );
        let text = plan(&nginx.url(NginxServer::Plain, "/"), &pki, &more);
        Some(Scene {
            nginx,
            folder,
            state: tempfile::tempdir().unwrap(),
            text,
        })
    }

    fn start(&self) -> Invited {
        self.start_at(interop::free_address())
    }

    fn start_at(&self, listen: SocketAddr) -> Invited {
        Invited::start(2, listen, self.state.path(), &self.text)
    }

    /// Rows that came since there were `before` requests; none may have come twice.
    fn rows(&self, before: usize) -> BTreeSet<u64> {
        let seen = self.nginx.wait_for_requests(before + ROWS as usize);
        let row = |path: &str| -> u64 { path.split_once("row=").unwrap().1.parse().unwrap() };
        let rows: BTreeSet<u64> = seen[before..].iter().map(|seen| row(&seen.path)).collect();
        assert_eq!(rows.len(), seen.len() - before, "a row came twice");
        rows
    }
}

fn join(invited: &Invited, name: &str, folder: &Path) -> Agent {
    let arguments = ["--name", name, "--data", folder.to_str().unwrap()];
    Agent::join(invited.address, &invited.token, &arguments)
}

#[test]
fn rows_of_a_file_that_agents_have_come_once_in_each_run() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for folder in &folders {
        std::fs::copy(
            scene.folder.path().join("d.csv"),
            folder.path().join("d.csv"),
        )
        .unwrap();
    }
    let first = scene.start();
    let mut agents = [0, 1].map(|nth| join(&first, &nth.to_string(), folders[nth].path()));
    let address = first.address;
    let finished = first.coordinator.wait().expect(0);
    assert_eq!(finished.clean().document().data[0].taken, ROWS);
    assert!(scene.rows(0).into_iter().eq(0..ROWS), "{finished}");

    // The agents keep what they have proved.
    for folder in &folders {
        std::fs::write(folder.path().join("d.csv"), "number\n0\n").unwrap();
    }
    let second = scene.start_at(address);
    let finished = second.coordinator.wait().expect(0);
    assert_eq!(finished.clean().document().data[0].taken, ROWS);
    assert!(scene.rows(ROWS as usize).into_iter().eq(0..ROWS));
    for agent in &mut agents {
        agent.signal(Signal::TERM);
        assert!(agent.wait().success(), "{}", agent.output());
    }
}

#[test]
fn agents_of_this_machine_have_the_file_that_the_coordinator_has() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let finished = CoordinatorCommand::local(2, &scene.text).run().expect(0);
    assert_eq!(finished.clean().document().data[0].taken, ROWS);
    assert!(scene.rows(0).into_iter().eq(0..ROWS), "{finished}");
}

#[test]
fn nothing_is_fired_unless_each_agent_has_the_right_file() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let right = scene.folder.path();
    let other = numbers(ROWS + 1);
    for (content, why) in [
        (None, "is missing; copy the coordinator's file there"),
        (Some(&other[..]), "has the SHA-256"),
        (Some("\u{1f}"), "has the SHA-256"),
    ] {
        let wrong = tempfile::tempdir().unwrap();
        if let Some(content) = content {
            std::fs::write(wrong.path().join("d.csv"), content).unwrap();
        }
        let invited = scene.start();
        let _agents = [
            join(&invited, "a", right),
            join(&invited, "b", wrong.path()),
        ];
        let finished = invited.coordinator.wait();
        assert_ne!(finished.code, 0, "{finished}");
        let told = finished.stderr.replace('\n', " ");
        assert!(told.contains(why) && told.contains("d.csv"), "{finished}");
    }
    let invited = scene.start();
    let _agents = [join(&invited, "a", right), invited.agent("b")];
    let finished = invited.coordinator.wait();
    assert!(finished.stderr.contains("--data DIR"), "{finished}");
    assert!(scene.nginx.requests().is_empty());
}
