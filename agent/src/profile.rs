//! A CPU profile of the watched processes in the middle of a run. It is taken on a thread of its
//! own, so that observing goes on each second.

mod folding;
mod obstacle;
mod perf;
mod window;

use crate::news;
use control::{PROFILE_MAX_BYTES, Report, RunId};
use host::{CpuProfile, MachineWatch, ProcessChoice, ProfileOutcome};
use perf::{Halt, Recording};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use window::profile_window;

/// How `perf` finds who called whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum CallGraph {
    /// By frame pointers: cheap; programs that were built without them show fewer callers
    #[default]
    Fp,
    /// By debugging information: complete, and costs the machine far more
    Dwarf,
}

/// Which processes are to be profiled, and when.
pub(crate) struct ProfileOrder {
    pub(crate) run: RunId,
    /// The zero of the run clock, in nanoseconds of the monotonic clock.
    pub(crate) start_at: u64,
    /// How long the run fires, if that is known.
    pub(crate) firing: Option<Duration>,
    pub(crate) wanted: Duration,
    pub(crate) call_graph: CallGraph,
    pub(crate) watch: MachineWatch,
}

/// A profile that is being taken. If dropped, it is discarded.
pub(crate) struct ProfileTaker {
    finish: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProfileTaker {
    /// Takes a profile when it is time, reports it, and says so in a line.
    pub(crate) fn start(
        order: ProfileOrder,
        reports: tokio::sync::mpsc::Sender<Report>,
    ) -> ProfileTaker {
        let (finish, asked) = channel();
        let run = order.run;
        let take = move || {
            // A link that has ended wants no report.
            let _ = reports.blocking_send(Report::Profiling { run });
            let Some(outcome) = take(order, &mut Halt::new(asked)) else {
                return;
            };
            news::say(words(&outcome));
            let encoded = outcome.encode(PROFILE_MAX_BYTES).into();
            let _ = reports.blocking_send(Report::Profiled { run, encoded });
        };
        let thread = std::thread::Builder::new().name("profile".into());
        ProfileTaker {
            finish: Some(finish),
            thread: thread.spawn(take).ok(),
        }
    }

    /// Ends the profile early, because the run is over. It covers what was recorded.
    pub(crate) fn finish(&self) {
        if let Some(finish) = &self.finish {
            // A thread that has ended has nothing to finish.
            let _ = finish.send(());
        }
    }
}

impl Drop for ProfileTaker {
    /// Ends everything it started, and waits until that and its files are gone.
    fn drop(&mut self) {
        self.finish = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Takes the profile; `None` if it is no longer wanted.
fn take(mut order: ProfileOrder, halt: &mut Halt) -> Option<ProfileOutcome> {
    Some(match take_in_window(&mut order, halt)? {
        Ok(profile) if profile.stacks.is_empty() => ProfileOutcome::NotTaken(format!(
            "{} was idle: there are no samples",
            profile.process
        )),
        Ok(profile) => ProfileOutcome::Taken(profile),
        Err(why) => ProfileOutcome::NotTaken(why),
    })
}

fn take_in_window(order: &mut ProfileOrder, halt: &mut Halt) -> Option<Result<CpuProfile, String>> {
    if let Err(why) = perf::is_there() {
        return Some(Err(why));
    }
    let now = engine::monotonic_ns().saturating_sub(order.start_at);
    let window = match profile_window(order.firing, order.wanted, Duration::from_nanos(now)) {
        Ok(window) => window,
        Err(why) => return Some(Err(why.to_owned())),
    };
    let from_ns = u64::try_from(window.from.as_nanos()).unwrap_or(u64::MAX);
    let from_ns = order.start_at.saturating_add(from_ns);
    let ahead = from_ns.saturating_sub(engine::monotonic_ns());
    if halt.wait(Duration::from_nanos(ahead))? {
        let why = "the run ended before it was time for a CPU profile";
        return Some(Err(why.to_owned()));
    }
    let pids = order.watch.pids().unwrap_or_default();
    let process = names(order.watch.choices());
    if pids.is_empty() {
        return Some(Err(format!(
            "there was no {process} in the middle of the run"
        )));
    }
    let recording = Recording {
        pids: &pids,
        length: window.length,
        call_graph: order.call_graph,
    };
    let taken = recording.take(halt)?;
    Some(taken.map(|(duration, stacks)| CpuProfile {
        process,
        duration,
        left_out: 0,
        stacks,
    }))
}

/// Names of the processes, such as `nginx, haproxy`.
fn names(choices: &[ProcessChoice]) -> String {
    let name = |choice: &ProcessChoice| match choice {
        ProcessChoice::Name(name) => name.clone(),
        ProcessChoice::Pid(pid) => {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            name.map_or_else(|_| format!("process {pid}"), |name| name.trim().to_owned())
        }
    };
    choices.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn words(outcome: &ProfileOutcome) -> String {
    match outcome {
        ProfileOutcome::NotTaken(why) => format!("no CPU profile: {why}"),
        ProfileOutcome::Taken(profile) => format!(
            "took a CPU profile of {} ({} s, {} samples)",
            profile.process,
            profile.duration.as_secs_f64().round(),
            profile.samples()
        ),
    }
}
