//! A monitor beside an agent: the result has the figures of both machines, on one time axis.

use analysis::{Document, MachineResult, MachineRole};
use interop::{Invited, Nginx, NginxOptions, NginxServer, Pki, Tried, ensure, must_hold_in, plan};
use std::net::{Ipv4Addr, SocketAddr};

#[test]
fn both_ends_of_a_run_are_observed_in_the_same_seconds() {
    must_hold_in(3, observe_both_ends);
}

/// An error if a machine's watch stood still, so that a second is missing.
fn observe_both_ends() -> Tried {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return Ok(());
    };
    let load = "load = { rate = \"200/s\", duration = \"5s\" }\n".to_owned();
    let text = load + &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, "");
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let invited = Invited::start(1, anywhere, state.path(), &text);
    let process = nginx.id().to_string();
    let monitor = invited.monitor("web", &["--label", "role=server", "--process", &process]);
    monitor.wait_for("joined", 1);
    let _agent = invited.agent("load");
    let finished = invited.coordinator.wait();

    let document: Document = finished.document();
    let machine = |role: MachineRole| -> &MachineResult {
        let mut machines = document.machines.iter();
        let found = machines.find(|machine| machine.role == role);
        found.unwrap_or_else(|| panic!("{finished}\n{}", monitor.output()))
    };
    let (web, load) = (machine(MachineRole::Monitor), machine(MachineRole::Agent));
    assert_eq!((&web.name[..], &load.name[..]), ("web", "load"));
    assert_eq!(web.labels["role"], "server");
    for machine in [web, load] {
        let seconds: Vec<u32> = machine.rows.iter().map(|row| row.second).collect();
        ensure(seconds.starts_with(&[0, 1, 2, 3]), || {
            format!("{seconds:?}: {finished}")
        })?;
    }
    let all = web.rows.iter().flat_map(|row| &row.processes);
    assert!(all.clone().count() > 0 && all.clone().all(|process| process.name == "nginx"));
    assert!(
        all.map(|process| process.cpus).sum::<f64>() > 0.0,
        "{web:?}"
    );
    assert!(
        load.rows[1].processes[0]
            .busiest_thread
            .starts_with("worker"),
        "{load:?}"
    );
    Ok(())
}
