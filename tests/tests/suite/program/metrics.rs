//! Prometheus looks at a run while it goes on.

use crate::program::command::{ENDLESS, Folder, assert_code, told, wait_until};
use crate::program::viewer::{address_in, ask};
use std::net::{TcpListener, TcpStream};

#[test]
fn run_is_shown_while_it_goes_on() {
    let folder = Folder::with_plan(ENDLESS);
    let mut running = folder.begin(&[
        "start",
        "--local",
        "--quiet",
        "--metrics",
        "127.0.0.1:0",
        "plan.toml",
    ]);
    let url = running.shown_url();
    let address = address_in(&url);

    // Strangers that send nothing keep no program out.
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let ok = |page: &str| {
        let line = page.lines().find(|line| {
            line.starts_with("cannonade_operations_total") && line.contains("outcome=\"ok\"")
        });
        line?.rsplit(' ').next()?.parse::<f64>().ok()
    };
    let mut seen = 0.0;
    wait_until("operations at /metrics", || {
        let (head, page) = ask(address, "GET /metrics", address);
        assert!(
            head.starts_with("HTTP/1.1 200") && head.contains("version=0.0.4"),
            "{head}"
        );
        let now = ok(&page).unwrap_or(0.0);
        assert!(now >= seen, "a counter never goes back: {now} after {seen}");
        let rose = seen > 0.0 && now > seen;
        seen = now;
        rose
    });
    for (request, host, status) in [
        ("GET /", address, "404"),
        ("POST /metrics", address, "405"),
        ("HEAD /metrics", "localhost", "200"),
        // A stranger's page whose name leads here sees nothing.
        ("GET /metrics", "evil.test", "403"),
    ] {
        let (head, _) = ask(address, request, host);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {head}"
        );
    }
    drop(silent);
    running.signal("INT");
    assert_code(&running.end(), 130);
    let operations = folder.document().measured.operations;
    assert!(
        operations.ok as f64 >= seen,
        "{} against {seen}",
        operations.ok
    );
    folder.assert_nothing_is_left();
}

#[test]
fn port_that_is_taken_is_told_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--metrics", "--dashboard"] {
        let folder = Folder::with_plan(ENDLESS);
        let output = folder.run(&["start", "--local", flag, &address, "plan.toml"]);
        assert_code(&output, 4);
        let told = told(&output);
        assert!(told.contains(flag) && told.contains(&address), "{told}");
        assert!(!folder.path().join("runs").exists(), "nothing was begun");
        folder.assert_nothing_is_left();
    }
}
