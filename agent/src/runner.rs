//! The runner: passes the link's orders to the engine, and the engine's events back. It has a
//! thread of its own, so it can block; the link and the workers never wait for it.

use crate::data_folders::DataFolders;
use crate::last_words;
use crate::link::RunnerEnd;
use crate::preflight::{MachineRemark, Severity, Undertaking};
use crate::sampling::{Sampling, own_machine};
use crate::second_watch::Tell;
use crate::stored_files::CacheFolder;
use crate::tokens::{TellOfToken, TokenKeeper};
use control::{
    Assignment, Digest, EndCause, Finding, Mono, Order, PlanFile, Report, RunId, SharePath, Stop,
};
use engine::{
    Cut, Event, FiringLease, KeysWritten, Placement, Policy, PreparedEngine, RunningEngine, Tokens,
    WorkerFigures,
};
use host::RunFigures;
use plan::{Calibration, Minted, Plan, Sha256};
use proto::Bytes;
use secret::Secret;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// What this machine provides for a run.
#[derive(Debug, Clone)]
pub struct Resources {
    /// CPUs of the load threads, one entry each; `None` is not pinned.
    pub cpus: Vec<Option<u32>>,
    /// Where load may be sent, and how much.
    pub policy: Policy,
    /// Folder for the secrets of connections, if plans may ask for them.
    pub key_log: Option<PathBuf>,
    /// What work costs this machine, if that was measured.
    pub calibration: Option<Calibration>,
    /// Data files that lie on this machine.
    pub data: DataFolders,
    /// Files of plans that are kept for later runs.
    pub cache: Option<CacheFolder>,
}

impl Resources {
    /// The policy for one run: secrets are written to a file named after it.
    fn policy(&self, plan: &Plan, assignment: &Assignment) -> Policy {
        let mut policy = self.policy.clone();
        let file = format!(
            "{}-{}-{}.keys",
            plan.name(),
            assignment.run,
            assignment.agent_index
        );
        policy.key_log = self.key_log.as_ref().map(|folder| folder.join(file));
        policy
    }

    /// Reads and proves the files that are stored here.
    fn stored(&self, assignment: &Assignment) -> Result<Vec<PlanFile>, String> {
        let read = |&sha256: &Digest| {
            let content = self.cache.as_ref().and_then(|cache| cache.read(sha256));
            let content = content.ok_or(
                "a file of the plan that was stored in the folder of --cache is missing or damaged \
                 by now; start again, and it is sent",
            )?;
            Ok(PlanFile {
                sha256,
                content: content.into(),
            })
        };
        assignment.stored.iter().map(read).collect()
    }

    /// Stores what may be stored for later runs; says what was not.
    fn store(&self, assignment: &Assignment) -> Vec<String> {
        let Some(cache) = &self.cache else {
            return Vec::new();
        };
        let files = assignment.files.iter();
        let files = files.filter(|file| assignment.storable.contains(&file.sha256));
        let stored = files.map(|file| cache.keep(file.sha256, file.content.reveal()));
        let failures = stored.filter_map(Result::err);
        failures
            .map(|error| format!("cannot keep a file in the folder of --cache: {error}"))
            .collect()
    }
}

/// Carries out orders until the link ends. A run that is still going on then is ended.
pub fn serve(end: RunnerEnd, resources: Resources) {
    let RunnerEnd {
        mut orders,
        reports,
    } = end;
    let mut runner = Runner {
        resources,
        reports,
        state: RunnerState::Idle,
    };
    while let Some(order) = orders.blocking_recv() {
        runner.obey(order);
    }
}

struct Runner {
    resources: Resources,
    reports: Sender<Report>,
    state: RunnerState,
}

enum RunnerState {
    Idle,
    Prepared {
        run: RunId,
        prepared: Box<PreparedEngine>,
        tokens: Tokens,
        keeper: Option<TokenKeeper>,
    },
    Firing {
        run: RunId,
        running: Box<RunningEngine>,
        tokens: Tokens,
    },
}

impl Runner {
    fn obey(&mut self, order: Order) {
        match order {
            Order::Prepare(assignment) => self.prepare(assignment),
            Order::Start {
                run,
                at,
                lease_until,
            } => self.start(run, at.0, lease_until.0),
            Order::ExtendLease { run, until } => {
                if let Some(running) = self.firing(run) {
                    running.extend_lease(until.0);
                }
            }
            Order::Stop { run, how } => self.stop(run, how),
            Order::TakeOver {
                run,
                number,
                share,
                from,
            } => {
                let answer = self.take_over(run, &share, from.0).map(Mono);
                self.report(Report::TookOver {
                    run,
                    number,
                    answer,
                });
            }
            Order::Token {
                run,
                place,
                text,
                expires_at,
            } => self.put_token(run, place, text, expires_at),
            Order::Forget { run } => self.forget(run),
            // An agent that fires is never asked only to watch.
            Order::Observe { .. } => {}
        }
    }

    fn prepare(&mut self, assignment: Assignment) {
        let run = assignment.run;
        self.state = RunnerState::Idle;
        let tell = tell_of_tokens(run, self.reports.clone());
        let report = match prepare(&assignment, &self.resources, tell) {
            Ok(Preparation {
                plan,
                prepared,
                tokens,
                keeper,
                findings,
            }) => {
                for text in self.resources.store(&assignment) {
                    let event = "cache".to_owned();
                    self.report(Report::Note {
                        run: Some(run),
                        event,
                        text,
                    });
                }
                let report = Report::Prepared {
                    run,
                    plan_digest: Digest(plan.digest().0),
                    addresses: prepared
                        .addresses()
                        .iter()
                        .map(ToString::to_string)
                        .collect(),
                    workers: prepared.workers(),
                    findings,
                };
                self.state = RunnerState::Prepared {
                    run,
                    prepared: Box::new(prepared),
                    tokens,
                    keeper,
                };
                report
            }
            Err(problem) => Report::NotPrepared { run, problem },
        };
        self.report(report);
    }

    fn start(&mut self, run: RunId, at: u64, lease_until: u64) {
        let RunnerState::Prepared {
            run: prepared_run,
            prepared,
            tokens,
            keeper,
        } = std::mem::replace(&mut self.state, RunnerState::Idle)
        else {
            return self.fail(run, "asked to start a run that was not prepared");
        };
        if prepared_run != run {
            return self.fail(run, "asked to start another run than was prepared");
        }
        if let Some(shelf) = tokens.shelves().find(|shelf| shelf.is_empty()) {
            let name = shelf.name();
            return self.fail(
                run,
                &format!("asked to start without the token of auth.{name}"),
            );
        }
        let tell = report_seconds(run, self.reports.clone());
        let machine = own_machine(prepared.port_pairs());
        let mut reporter = EventReporter {
            run,
            keeper,
            reports: self.reports.clone(),
            sampling: Sampling::start(prepared.window(), at, prepared.spun(), machine, tell),
        };
        match prepared.start(at, FiringLease::until(lease_until), move |event| {
            reporter.report(event)
        }) {
            Ok(running) => {
                let running = Box::new(running);
                self.state = RunnerState::Firing {
                    run,
                    running,
                    tokens,
                };
            }
            Err(error) => self.fail(run, &error.to_string()),
        }
    }

    fn firing(&mut self, wanted: RunId) -> Option<&RunningEngine> {
        match &self.state {
            RunnerState::Firing { run, running, .. } if *run == wanted => Some(running),
            _ => None,
        }
    }

    /// Fires a part of a lost agent's share too. Returns the instant from which it does, or why it
    /// cannot.
    fn take_over(&mut self, wanted: RunId, share: &SharePath, from: u64) -> Result<u64, String> {
        match &mut self.state {
            RunnerState::Firing { run, running, .. } if *run == wanted => running
                .take_over(share.agent_index, &share.parts, from)
                .map_err(|error| error.to_string()),
            RunnerState::Prepared { run, .. } if *run == wanted => {
                Err("this agent does not know yet when the run starts".to_owned())
            }
            _ => Err("this agent does not fire that run".to_owned()),
        }
    }

    /// Lets requests have a token that all agents have in common.
    fn put_token(
        &mut self,
        wanted: RunId,
        place: u32,
        text: Secret<String>,
        expires_at: Option<Mono>,
    ) {
        let tokens = match &self.state {
            RunnerState::Prepared { run, tokens, .. } | RunnerState::Firing { run, tokens, .. }
                if *run == wanted =>
            {
                tokens
            }
            // The order is about a run that is over here.
            _ => return,
        };
        // An agent's own tokens are not the coordinator's to give, and both know the same plan.
        if let Some(shelf) = tokens.shelves().nth(place as usize) {
            shelf.put(text, expires_at.map(|at| at.0));
        }
    }

    fn stop(&mut self, run: RunId, how: Stop) {
        let how = match how {
            Stop::Drain => engine::StopMode::Drain,
            Stop::Now => engine::StopMode::Now,
        };
        match self.firing(run) {
            Some(running) => running.stop(how),
            None => self.end_unstarted(run),
        }
    }

    /// Ends a run that is stopped before it begins, with nothing done.
    fn end_unstarted(&mut self, wanted: RunId) {
        if matches!(&self.state, RunnerState::Prepared { run, .. } if *run == wanted) {
            self.state = RunnerState::Idle;
            self.report(end_without_data(wanted, EndCause::Stopped));
        }
    }

    fn forget(&mut self, wanted: RunId) {
        match &self.state {
            RunnerState::Prepared { run, .. } | RunnerState::Firing { run, .. }
                if *run == wanted =>
            {
                self.state = RunnerState::Idle
            }
            // The order is about another run: one that was forgotten already, or never prepared.
            _ => {}
        }
    }

    fn fail(&mut self, run: RunId, why: &str) {
        self.report(end_without_data(run, EndCause::Failed(why.to_owned())));
    }

    fn report(&self, report: Report) {
        // A link that has ended wants no report, and its orders end next.
        let _ = self.reports.blocking_send(report);
    }
}

/// Reports the seconds of a run. A second is dropped if a busy link has no room for it, because
/// observing must not wait.
pub(crate) fn report_seconds(run: RunId, reports: Sender<Report>) -> Tell {
    Box::new(move |second, observation| {
        let encoded = Bytes::from(observation.encode());
        let _ = reports.try_send(Report::Observed {
            run,
            second,
            encoded,
        });
    })
}

/// Notes what happens to a run's tokens. A sentence is dropped if a busy link has no room for it:
/// the result has the counts.
fn tell_of_tokens(run: RunId, reports: Sender<Report>) -> TellOfToken {
    Box::new(move |text| {
        let _ = reports.try_send(Report::Note {
            run: Some(run),
            event: "token".to_owned(),
            text,
        });
    })
}

/// The end of a run that recorded nothing.
fn end_without_data(run: RunId, cause: EndCause) -> Report {
    let totals = Bytes::from(measure::Totals::default().encode());
    Report::Ended {
        run,
        cause,
        totals,
        figures: Bytes::from(RunFigures::default().encode()),
    }
}

/// A run that can start.
struct Preparation {
    plan: Arc<Plan>,
    prepared: PreparedEngine,
    tokens: Tokens,
    keeper: Option<TokenKeeper>,
    findings: Vec<Finding>,
}

fn prepare(
    assignment: &Assignment,
    resources: &Resources,
    tell: TellOfToken,
) -> Result<Preparation, String> {
    let stored = resources.stored(assignment)?;
    let content = |wanted: Sha256| {
        let mut files = assignment.files.iter().chain(&stored);
        let file = files.find(|file| file.sha256.0 == wanted.0)?;
        Some(Arc::clone(file.content.reveal()))
    };
    let data = &resources.data;
    data.keep_for(assignment.plan.reveal());
    let mapped = |name: &str, wanted| data.find(name, wanted);
    let plan = Plan::parse_canonical_with(assignment.plan.reveal(), &content, &mapped)
        .map_err(|problems| problems.to_string())?;
    let plan = Arc::new(with_minted(plan, assignment)?);
    let placement = Placement {
        agent: assignment.agent_index,
        agents: assignment.agents,
        cpus: resources.cpus.clone(),
    };
    let policy = resources.policy(&plan, assignment);
    let spins = policy.spin;
    // The preflight needs the addresses that this check resolves.
    let checked = engine::check(Arc::clone(&plan), placement, policy);
    let checked = checked.map_err(|error| error.to_string())?;
    let undertaking = Undertaking {
        spins,
        calibration: resources.calibration.as_ref(),
        ..Undertaking::new(
            &plan,
            (assignment.agent_index, assignment.agents),
            checked.addresses(),
            resources.cpus.len() as u32,
        )
    };
    let findings = judge_machine(undertaking.remarks_here(), assignment.force)?;
    let fetching = (&resources.policy, assignment.agent_index);
    let tokens = checked.tokens().clone();
    let keeper = TokenKeeper::start(&plan, &tokens, fetching, tell)?;
    let prepared = checked.prepare().map_err(|error| error.to_string())?;
    Ok(Preparation {
        plan,
        prepared,
        tokens,
        keeper,
        findings,
    })
}

/// What the coordinator is told about a machine, or why the run is refused.
fn judge_machine(remarks: Vec<MachineRemark>, force: bool) -> Result<Vec<Finding>, String> {
    let is_refusal = |remark: &&MachineRemark| remark.severity == Severity::Refusal;
    let refusals: Vec<&str> = remarks
        .iter()
        .filter(is_refusal)
        .map(|remark| remark.text.as_str())
        .collect();
    if !refusals.is_empty() && !force {
        let refused = refusals.join("; also, ");
        return Err(format!("{refused} (--force goes on, and marks the run)"));
    }
    let finding = |remark: MachineRemark| Finding {
        is_forced: remark.severity == Severity::Refusal,
        text: remark.text,
    };
    Ok(remarks.into_iter().map(finding).collect())
}

/// The plan with the client identities that came for it, if any were minted.
fn with_minted(plan: Plan, assignment: &Assignment) -> Result<Plan, String> {
    let is_minted = |file: &&PlanFile| Some(file.sha256) == assignment.minted;
    let Some(file) = assignment.files.iter().find(is_minted) else {
        return Ok(plan);
    };
    let minted = Minted::decode(file.content.reveal()).map_err(|error| error.to_string())?;
    Ok(plan.with_minted(minted))
}

/// Turns the engine's events into reports. It lives on the engine's collector thread, where
/// encoding costs the load nothing.
struct EventReporter {
    run: RunId,
    reports: Sender<Report>,
    sampling: Sampling,
    keeper: Option<TokenKeeper>,
}

impl EventReporter {
    fn report(&mut self, event: Event) {
        let run = self.run;
        if let Event::Ended { .. } = event {
            // Nothing is left to be renewed for.
            self.keeper = None;
        }
        let report = match event {
            Event::Began { at } => Report::Began { run, at: Mono(at) },
            Event::Interval { number, snapshot } => Report::Interval {
                run,
                interval: number,
                encoded: Bytes::from(snapshot.encode()),
            },
            Event::Draining => return self.sampling.draining(),
            Event::KeysWritten(written) => Report::Note {
                run: Some(run),
                event: "key_log".to_owned(),
                text: describe_keys(&written),
            },
            Event::Ended { totals, workers } => Report::Ended {
                run,
                cause: cause(&workers),
                totals: Bytes::from(totals.encode()),
                figures: Bytes::from(figures(&mut self.sampling, &workers).encode()),
            },
        };
        // A link that has ended wants no report.
        let _ = self.reports.blocking_send(report);
    }
}

/// Describes what was written to the key log.
fn describe_keys(written: &KeysWritten) -> String {
    let KeysWritten {
        path,
        connections,
        dropped,
        failure,
    } = written;
    let mut text = format!(
        "wrote the secrets of {connections} connections to {}",
        path.display()
    );
    if *dropped > 0 {
        text += &format!(
            "; those of {dropped} more were dropped, since the disk did not take them in time"
        );
    }
    if let Some(failure) = failure {
        text += &format!("; the file is not whole: {failure}");
    }
    text
}

fn figures(sampling: &mut Sampling, workers: &[Option<WorkerFigures>]) -> RunFigures {
    let mut figures = sampling.finish();
    let firing = workers.iter().flatten().map(|worker| worker.firing);
    // A run shorter than a second has no sample: the busiest worker's own clock replaces it.
    if let Some(busiest) = firing.max_by(|a, b| a.working_share().total_cmp(&b.working_share())) {
        figures
            .measured
            .without_samples(busiest.wall_ns, busiest.working_share());
    }
    figures
}

fn cause(workers: &[Option<WorkerFigures>]) -> EndCause {
    if workers.iter().any(Option::is_none) {
        let words = last_words::take().unwrap_or_else(|| "it said nothing".to_owned());
        return EndCause::Failed(format!(
            "a load thread died of a defect of this program, please report it: {words}"
        ));
    }
    match workers
        .iter()
        .flatten()
        .filter_map(|figures| figures.cut)
        .max()
    {
        None => EndCause::Plan,
        Some(Cut::Stopped) => EndCause::Stopped,
        Some(Cut::LeaseExpired) => EndCause::LeaseExpired,
    }
}

#[cfg(test)]
mod tests;
