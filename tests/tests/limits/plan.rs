//! Limits of the plan itself, a server that gets slower over time, and errors.

use crate::right::Right;
use crate::stage::{Stage, plan, staged};
use analysis::Verdict::{PlanBound, ServerBound, Undetermined};
use interop::{Finished, PythonServer, Reply, ScriptedRequest, ScriptedServer, ThrottlingNginx};
use measure::SplitMix;
use std::time::{Duration, Instant};

/// What a server that answers each request independently must not be blamed for.
const NO_QUEUE: &[&str] = &["server waits for something", "stopped following the load"];

/// An idle server whose answers take the time that `time` returns, whatever the load.
fn idle(time: impl FnMut() -> Duration + Send + Clone + 'static, load: &str) -> Option<Finished> {
    let stage = Stage::apart()?;
    let mut time = time.clone();
    let script = move |request: &ScriptedRequest| Reply::At(request.asked_at + time());
    let server = ScriptedServer::at(stage.server_ip(), script);
    Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
}

/// Without a monitor an idle server may not look idle, and still must not be blamed.
fn bound_by_the_plan(name: &str, case: impl Fn() -> Option<Finished>) {
    let right = Right::is(PlanBound).or(&[Undetermined]).without(NO_QUEUE);
    staged(name, &right, case);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn too_few_connections_for_mixed_answers() {
    bound_by_the_plan("6 connections for 260/s, answers of 15 to 120 ms", || {
        let mut random = SplitMix::new(3);
        let time = move || Duration::from_millis(15 + random.below(106));
        idle(
            time,
            "rate = \"260/s\", max_connections = 6, duration = \"6s\"",
        )
    });
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn too_few_connections_for_bimodal_answers() {
    bound_by_the_plan(
        "5 connections for 350/s, 9 of 10 answers take 8 ms and the others 180 ms",
        || {
            let mut count = 0;
            let time = move || {
                count += 1;
                Duration::from_millis(if count % 10 == 0 { 180 } else { 8 })
            };
            idle(
                time,
                "rate = \"350/s\", max_connections = 5, duration = \"5s\"",
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn too_few_connections_for_equal_answers() {
    bound_by_the_plan("4 connections for 300/s, answers of 35 ms", || {
        let load = "rate = \"300/s\", max_connections = 4, duration = \"4s\"";
        idle(|| Duration::from_millis(35), load)
    });
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn too_few_connections_at_a_watched_server() {
    staged(
        "12 connections for 500/s at a watched Python, answers of 20 to 90 ms",
        &Right::is(PlanBound).without(NO_QUEUE),
        || {
            let mut stage = Stage::apart()?;
            let server = PythonServer::start(stage.server_ip(), &["between", "20", "90"])?;
            stage.watch(server.id());
            let load = "rate = \"500/s\", max_connections = 12, duration = \"5s\"";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn few_users_of_a_watched_server() {
    staged(
        "9 users of a watched Python, answers of 30 to 80 ms",
        &Right::is(PlanBound).without(NO_QUEUE),
        || {
            let mut stage = Stage::apart()?;
            let server = PythonServer::start(stage.server_ip(), &["between", "30", "80"])?;
            stage.watch(server.id());
            let load = "connections = 9, duration = \"4s\"";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn few_users_of_an_idle_server() {
    bound_by_the_plan("7 users, answers of 10 to 60 ms", || {
        let mut random = SplitMix::new(9);
        let time = move || Duration::from_millis(10 + random.below(51));
        idle(time, "connections = 7, duration = \"4s\"")
    });
}

/// From 6 to 30 users in 10 s at a server whose answers take 40 ms, and 110 ms from second 4.5 on.
#[test]
#[ignore = "takes minutes on a quiet machine"]
fn server_that_is_slower_with_time() {
    let right = Right::is(Undetermined).or(&[PlanBound]).without(NO_QUEUE);
    staged("a server that is slower from second 4.5 on", &right, || {
        slower_later("connections = 6, stage = [{ over = \"10s\", to = 30 }]")
    });
}

/// Times differ before and after with the same number of users.
#[test]
#[ignore = "takes minutes on a quiet machine"]
fn server_that_is_slower_with_time_under_users_up_and_down() {
    let right = Right::is(Undetermined).or(&[PlanBound]).without(NO_QUEUE);
    staged(
        "a server that is slower later, users up and down",
        &right,
        || {
            slower_later(
                "connections = 4, stage = [{ over = \"5s\", to = 24 }, { over = \"5s\", to = 4 }]",
            )
        },
    );
}

fn slower_later(load: &str) -> Option<Finished> {
    let stage = Stage::apart()?;
    let mut first: Option<Instant> = None;
    let script = move |request: &ScriptedRequest| {
        let begin = *first.get_or_insert(request.asked_at);
        let is_late = request.asked_at - begin > Duration::from_millis(4_500);
        Reply::At(request.asked_at + Duration::from_millis(if is_late { 110 } else { 40 }))
    };
    let server = ScriptedServer::at(stage.server_ip(), script);
    Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
}

/// Errors come first in the evidence, by their name.
fn errors(name: &str, leads: &'static str, case: impl Fn() -> Option<Finished>) {
    let right = Right::is(Undetermined).or(&[ServerBound]).leads(leads);
    staged(name, &right, case);
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn refusals_from_some_rate_on() {
    errors(
        "nginx refuses all above 120/s, a ramp to 400/s",
        "http.status.503",
        || {
            let stage = Stage::apart()?;
            let server = ThrottlingNginx::that_refuses(stage.server_ip(), 120)?;
            let load = "rate = \"30/s\", stage = [{ over = \"6s\", to = \"400/s\" }]";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn refusals_of_a_closed_loop() {
    errors(
        "nginx refuses all above 90/s, 12 users who pause",
        "http.status.503",
        || {
            let stage = Stage::apart()?;
            let server = ThrottlingNginx::that_refuses(stage.server_ip(), 90)?;
            let load = "connections = 12, think_time = \"40ms\", duration = \"4s\"";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn answers_that_stop_coming() {
    errors(
        "no answer from second 2 on, 100/s for 5 s",
        "http.time_out",
        || {
            let stage = Stage::apart()?;
            let mut first: Option<Instant> = None;
            let script = move |request: &ScriptedRequest| {
                let begin = *first.get_or_insert(request.asked_at);
                if request.asked_at - begin > Duration::from_secs(2) {
                    Reply::Never
                } else {
                    Reply::At(request.asked_at + Duration::from_millis(5))
                }
            };
            let server = ScriptedServer::at(stage.server_ip(), script);
            let load = "rate = \"100/s\", max_connections = 500, duration = \"5s\"";
            let more = "connection.timeouts.request = \"800ms\"";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, more), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn connections_that_are_cut() {
    errors(
        "nginx of 40 connections and 300/s, 70 users",
        "http.",
        || {
            let stage = Stage::apart()?;
            let server = ThrottlingNginx::of_connections(stage.server_ip(), 300, 40)?;
            // 70 users who begin at once keep a debug build on a slow CPU busy for 18 ms, which is
            // a limit of the client too.
            let load = "connections = 70, connect_ramp = \"500ms\", think_time = \"20ms\", \
                        duration = \"4s\"";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, ""), |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn errors_from_the_start() {
    errors(
        "one answer in twelve is 404, 150/s for 4 s",
        "http.status.404",
        || {
            let stage = Stage::apart()?;
            let server = ThrottlingNginx::that_holds_up(stage.server_ip(), 2_000)?;
            let load = "rate = \"150/s\", max_connections = 50, duration = \"4s\"";
            let more =
                "request = [{ path = \"/\", weight = 11 }, { path = \"/none\", weight = 1 }]";
            Some(stage.play(stage.agent_side(), &plan(&server.url(), load, more), |_| ()))
        },
    );
}
