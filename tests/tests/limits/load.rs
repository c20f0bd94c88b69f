//! Open loops against servers of a known capacity: carried, not carried, or too short to tell. The
//! clients have spare capacity in all of them, and there is no monitor unless a case says so.

use crate::right::Right;
use crate::stage::{Stage, plan, staged};
use analysis::Verdict::{LoadMet, ServerBound, Undetermined};
use interop::{
    Finished, HaproxyRelay, PythonServer, Reply, ScriptedServer, ThrottlingNginx, one_at_a_time,
};
use std::time::Duration;

/// What delays a server's answers.
#[derive(Debug, Clone, Copy)]
enum Queue {
    /// A script that answers this many requests per second, one at a time.
    Scripted(u32),
    /// nginx, whose `limit_req` lets this many requests per second pass.
    Nginx(u32),
    /// `HAProxy`, with at most this many concurrent requests to a server whose answers take 20 ms.
    Haproxy(u32),
    /// Nothing: each answer is ready after this time.
    None(Duration),
}

fn play(queue: Queue, load: &str) -> Option<Finished> {
    let stage = Stage::apart()?;
    let run = |url: String| {
        let load = format!("max_connections = 6000, {load}");
        Some(stage.play(stage.agent_side(), &plan(&url, &load, ""), |_| ()))
    };
    match queue {
        Queue::Scripted(per_second) => {
            let server = ScriptedServer::at(stage.server_ip(), one_at_a_time(per_second));
            run(server.url())
        }
        Queue::Nginx(per_second) => {
            run(ThrottlingNginx::that_holds_up(stage.server_ip(), per_second)?.url())
        }
        Queue::Haproxy(at_once) => {
            let backend = ScriptedServer::of_delay(Duration::from_millis(20));
            let relay = HaproxyRelay::start(stage.server_ip(), backend.address(), at_once)?;
            run(relay.url())
        }
        Queue::None(delay) => {
            let answer =
                move |request: &interop::ScriptedRequest| Reply::At(request.asked_at + delay);
            let server = ScriptedServer::at(stage.server_ip(), answer);
            run(server.url())
        }
    }
}

/// In some part of the run more is due than the server answers, and a queue builds up.
fn beyond(name: &str, queue: Queue, load: &str) {
    staged(name, &Right::is(ServerBound), || play(queue, load));
}

/// Everything is answered as it arrives.
fn carried(name: &str, queue: Queue, load: &str) {
    staged(name, &Right::is(LoadMet), || play(queue, load));
}

/// Whatever the limit is, such a short run does not show it.
fn too_short(name: &str, queue: Queue, load: &str) {
    let right = Right::is(Undetermined).named("too short");
    staged(name, &right, || play(queue, load));
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn spike_in_the_second_half() {
    beyond(
        "80/s for 5 s, then 900/s for 3 s on a server of 300/s",
        Queue::Scripted(300),
        "rate = \"80/s\", stage = [{ over = \"5s\" }, { to = \"900/s\" }, { over = \"3s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn spike_in_the_first_half() {
    beyond(
        "1,000/s for 2 s, then 40/s for 6 s on a server of 250/s",
        Queue::Scripted(250),
        "rate = \"1000/s\", stage = [{ over = \"2s\" }, { to = \"40/s\" }, { over = \"6s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn spike_in_the_middle() {
    beyond(
        "60/s for 3 s, 700/s for 3 s, 60/s for 3 s on a server of 200/s",
        Queue::Scripted(200),
        "rate = \"60/s\", stage = [{ over = \"3s\" }, { to = \"700/s\" }, { over = \"3s\" }, \
         { to = \"60/s\" }, { over = \"3s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn spike_from_which_it_recovers() {
    beyond(
        "50/s for 2 s, 600/s for 2 s, 50/s for 6 s on nginx of 300/s, which recovers",
        Queue::Nginx(300),
        "rate = \"50/s\", stage = [{ over = \"2s\" }, { to = \"600/s\" }, { over = \"2s\" }, \
         { to = \"50/s\" }, { over = \"6s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn short_spike_after_a_long_quiet() {
    beyond(
        "50/s for 8 s, then 600/s for 2 s on nginx of 200/s",
        Queue::Nginx(200),
        "rate = \"50/s\", stage = [{ over = \"8s\" }, { to = \"600/s\" }, { over = \"2s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn twice_the_capacity_in_few_answers() {
    beyond(
        "12/s for 4 s on a server of 6/s",
        Queue::Scripted(6),
        "rate = \"12/s\", duration = \"4s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn beyond_the_capacity_in_very_few_answers() {
    beyond(
        "3/s for 10 s on a server of 2/s",
        Queue::Scripted(2),
        "rate = \"3/s\", duration = \"10s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_up_through_the_capacity() {
    beyond(
        "a ramp from 40/s to 600/s in 8 s on a server of 220/s",
        Queue::Scripted(220),
        "rate = \"40/s\", stage = [{ over = \"8s\", to = \"600/s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_down_through_the_capacity() {
    beyond(
        "a ramp from 700/s to 20/s in 8 s on nginx of 260/s",
        Queue::Nginx(260),
        "rate = \"700/s\", stage = [{ over = \"8s\", to = \"20/s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn only_the_middle_step_is_beyond() {
    beyond(
        "steps of 100/s, 450/s and 120/s, 3 s each, on HAProxy of 200/s",
        Queue::Haproxy(4),
        "rate = \"100/s\", stage = [{ over = \"3s\" }, { to = \"450/s\" }, { over = \"3s\" }, \
         { to = \"120/s\" }, { over = \"3s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn bursts_beyond_the_capacity() {
    beyond(
        "1,000/s and 20/s in turn, 2 s each, on a server of 280/s",
        Queue::Scripted(280),
        "rate = \"1000/s\", stage = [{ over = \"2s\" }, { to = \"20/s\" }, { over = \"2s\" }, \
         { to = \"1000/s\" }, { over = \"2s\" }, { to = \"20/s\" }, { over = \"2s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn poisson_arrivals_beyond_the_capacity() {
    beyond(
        "Poisson arrivals of 330/s for 6 s on HAProxy of 150/s",
        Queue::Haproxy(3),
        "rate = \"330/s\", arrivals = \"poisson\", duration = \"6s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn poisson_arrivals_near_the_capacity() {
    carried(
        "Poisson arrivals of 170/s for 8 s on a server of 200/s",
        Queue::Scripted(200),
        "rate = \"170/s\", arrivals = \"poisson\", seed = 7, duration = \"8s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn bursts_below_the_capacity() {
    carried(
        "260/s and 30/s in turn, 1 s each, on HAProxy of 400/s",
        Queue::Haproxy(8),
        "rate = \"260/s\", stage = [{ over = \"1s\" }, { to = \"30/s\" }, { over = \"1s\" }, \
         { to = \"260/s\" }, { over = \"1s\" }, { to = \"30/s\" }, { over = \"1s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_below_the_capacity() {
    carried(
        "a ramp from 20/s to 240/s in 6 s on nginx of 400/s",
        Queue::Nginx(400),
        "rate = \"20/s\", stage = [{ over = \"6s\", to = \"240/s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn slow_answers_far_below_the_capacity() {
    carried(
        "90/s for 6 s, each answered after 900 ms",
        Queue::None(Duration::from_millis(900)),
        "rate = \"90/s\", duration = \"6s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_of_slow_answers() {
    carried(
        "a ramp from 30/s to 200/s in 6 s, each answered after 500 ms",
        Queue::None(Duration::from_millis(500)),
        "rate = \"30/s\", stage = [{ over = \"6s\", to = \"200/s\" }]",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn few_answers_far_below_the_capacity() {
    carried(
        "4/s for 8 s on a server of 40/s",
        Queue::Scripted(40),
        "rate = \"4/s\", duration = \"8s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn run_that_ends_before_its_answers() {
    too_short(
        "30/s for 1 s, each answered after 3 s",
        Queue::None(Duration::from_secs(3)),
        "rate = \"30/s\", duration = \"1s\"",
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn run_of_six_arrivals() {
    too_short(
        "2/s for 3 s, each answered after 1,400 ms",
        Queue::None(Duration::from_millis(1_400)),
        "rate = \"2/s\", duration = \"3s\"",
    );
}

/// Python with a lock that each answer holds for 5 ms: 190 to 200 answers per second, with an idle
/// CPU.
fn locked(times: f64, seconds: u32, watched: bool) -> Option<Finished> {
    let mut stage = Stage::apart()?;
    let server = PythonServer::start(stage.server_ip(), &["lock", "5"])?;
    if watched {
        stage.watch(server.id());
    }
    let rate = (200.0 * times).round();
    let load = format!("rate = \"{rate}/s\", max_connections = 150, duration = \"{seconds}s\"");
    Some(stage.play(stage.agent_side(), &plan(&server.url(), &load, ""), |_| ()))
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn lock_at_slightly_more_than_its_capacity() {
    staged(
        "a lock at 1.3 times its capacity for 6 s",
        &Right::is(ServerBound),
        || locked(1.3, 6, false),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn lock_at_twice_its_capacity() {
    staged(
        "a lock at twice its capacity for 6 s, watched",
        &Right::is(ServerBound).named("wait"),
        || locked(2.0, 6, true),
    );
}

/// All connections are in use before the first second ends, and an unfair lock makes answers
/// scatter: without a monitor nothing need show that more connections would not help.
#[test]
#[ignore = "takes minutes on a quiet machine"]
fn lock_at_three_times_its_capacity() {
    staged(
        "a lock at three times its capacity for 6 s",
        &Right::is(ServerBound).or(&[Undetermined]),
        || locked(3.0, 6, false),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn lock_at_three_times_its_capacity_for_longer() {
    staged(
        "a lock at three times its capacity for 12 s, watched",
        &Right::is(ServerBound).named("wait"),
        || locked(3.0, 12, true),
    );
}
