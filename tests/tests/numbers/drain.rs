//! What happens after the measured part is not in its figures: CPU shares and connections in use.

use crate::reading::{Reading, is_near, under_way};
use crate::{alone, come_first, must_hold, plan};
use interop::{
    Coordinator, CoordinatorCommand, Link, LinkQuality, Nginx, NginxOptions, NginxServer, Pki,
    ensure,
};
use interop::{Reply, ScriptedServer, wait_until};
use std::process::Command;
use std::time::Duration;

/// Unit of the CPU times in `/proc/<id>/stat`, see proc_pid_stat(5).
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds of the busiest thread of the coordinator's child processes.
fn busiest_thread_seconds(coordinator: &Coordinator) -> f64 {
    let threads = coordinator
        .children()
        .into_iter()
        .filter_map(|id| std::fs::read_dir(format!("/proc/{id}/task")).ok())
        .flatten();
    let seconds = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        // After the name, which may contain anything, fields 12 and 13 are user and system time.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks: f64 = [11, 12]
            .into_iter()
            .filter_map(|index| fields.get(index)?.parse::<f64>().ok())
            .sum();
        Some(ticks / TICKS_PER_SECOND)
    });
    seconds.fold(0.0, f64::max)
}

/// Failed with: a worker busy for 0.83 is reported as 0.18.
#[test]
fn worker_is_as_busy_as_it_was_while_it_was_measured() {
    must_hold(|| {
        let alone = alone();
        let mut first = None;
        let mut hangs = false;
        let server = ScriptedServer::start(move |request| {
            let begin = *first.get_or_insert(request.asked_at);
            // One request near the end is answered long after the measured part.
            if !hangs && request.asked_at > begin + Duration::from_millis(2800) {
                hangs = true;
                return Reply::At(request.asked_at + Duration::from_secs(5));
            }
            Reply::At(request.asked_at)
        });
        let load = "connections = 16, duration = \"3s\"";
        let coordinator = CoordinatorCommand::start(
            &["--local", "--workers", "1"],
            &plan(&server.url(), load, ""),
        )
        .spawn();
        wait_until("load", || (!server.exchanges().is_empty()).then_some(()));
        // In the drain the worker sleeps: from here on its CPU time is that of the measured part.
        std::thread::sleep(Duration::from_secs(4));
        let truth = busiest_thread_seconds(&coordinator) / 3.0;
        drop(alone); // from here on it waits for answers
        let finished = coordinator.wait();
        let reading = Reading::new(&finished);
        let reported = reading.number("/agents/0/cpu/busiest_worker_share_mean");
        println!("the busiest worker: {reported:.2} reported, {truth:.2} by the kernel");
        // If the mean included the drain, less than half would be reported.
        ensure(is_near(reported, truth, 0.2), || {
            format!("a worker busy for {truth:.2} is reported as {reported:.2}")
        })
    });
}

fn one_worker(command: &mut Command) {
    command.args(["--workers", "1"]);
}

#[test]
fn client_that_had_no_time_left_is_the_limit_though_its_last_requests_hang() {
    let Some(link) = Link::new(LinkQuality::default()) else {
        return;
    };
    let (pki, ip) = (Pki::new(), link.near_address().into());
    let Some(nginx) = Nginx::start(
        &pki,
        &NginxOptions {
            ip,
            ..NginxOptions::default()
        },
    ) else {
        return;
    };
    // A full handshake takes the client more than twice as long as nginx.
    let tls = format!(
        "tls = {{ ca = {:?}, server_name = \"localhost\" }}",
        pki.ca()
    );
    let more = format!(
        "{tls}\nconnection = {{ requests = 0, close = \"rst\", timeouts = {{ handshake = \"4s\", \
         connect = \"4s\" }} }}"
    );
    let text = plan(
        &nginx.url(NginxServer::Tls13, ""),
        "connections = 24, duration = \"3s\"",
        &more,
    );
    must_hold(|| {
        let alone = alone();
        link.change(|quality| quality.is_up = true);
        let command = CoordinatorCommand::local_by(link.command(), &text).with(one_worker);
        let coordinator = command.spawn();
        let before = nginx.status().accepted;
        wait_until("load", || (nginx.status().accepted > before).then_some(()));
        std::thread::sleep(Duration::from_millis(2950));
        link.change(|quality| quality.is_up = false);
        std::thread::sleep(Duration::from_millis(1500));
        let truth = busiest_thread_seconds(&coordinator) / 3.0;
        drop(alone); // from here on it waits for answers
        let finished = coordinator.wait();
        let reading = Reading::new(&finished);
        let reported = reading.number("/agents/0/cpu/busiest_worker_share_mean");
        println!(
            "the busiest worker: {reported:.2} reported, {truth:.2} by the kernel; {}",
            reading.verdict()
        );
        ensure(is_near(reported, truth, 0.2), || {
            format!("a worker busy for {truth:.2} is reported as {reported:.2}")
        })?;
        if truth < 0.92 {
            println!("skipped: this machine had no CPU for a worker that takes a whole one");
            return Ok(());
        }
        ensure(reading.verdict() == "client_bound", || {
            format!("{finished}")
        })
    });
}

/// Failed with: in second 0 0.0 were under way, it says; 5.5 by the server's count.
#[test]
fn operations_under_way_are_as_many_as_there_are() {
    come_first();
    must_hold(|| {
        let server = ScriptedServer::of_delay(Duration::from_millis(3500));
        let load = "rate = \"10/s\", duration = \"11s\"";
        let finished = CoordinatorCommand::local(1, &plan(&server.url(), load, "")).run();
        let reading = Reading::new(&finished);
        let exchanges = server.exchanges();
        reading.rows().iter().try_for_each(|row| {
            let (second, reported) = (
                row["second"].as_u64().unwrap(),
                row["in_service"].as_f64().unwrap(),
            );
            let truth = under_way(&exchanges, second);
            println!("second {second}: {reported:.2} reported, {truth:.2} by the server's count");
            // One more or less if a second ends, plus what a busy machine adds to each.
            ensure((reported - truth).abs() < 1.0, || {
                format!(
                    "in second {second} {reported:.1} were under way, it says; {truth:.1} by the \
                     server's count"
                )
            })
        })
    });
}
