//! A load machine whose runner follows a script instead of firing.

use agent::link::{
    AgentIdentity, Keeping, LinkConfig, LinkError, News, Quit, RunnerEnd, pair, run,
};
use control::{Assignment, Digest, EndCause, Order, Report, RunId, Stay, Token};
use proto::Bytes;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// Instructions for the runner.
#[derive(Clone)]
pub struct Script {
    /// Size of each interval.
    pub interval_bytes: Vec<usize>,
    /// Time between two intervals.
    pub every: Duration,
    /// Why it cannot run the plan.
    pub problem: Option<String>,
    /// The plan's digest, if not the right one.
    pub digest: Option<Digest>,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            interval_bytes: vec![1],
            every: Duration::from_millis(20),
            problem: None,
            digest: None,
        }
    }
}

pub struct Machine {
    link: JoinHandle<Result<(), LinkError>>,
    runner: JoinHandle<()>,
    quit: mpsc::Sender<Quit>,
    news: mpsc::UnboundedReceiver<News>,
    assignments: mpsc::UnboundedReceiver<Assignment>,
}

impl Machine {
    pub fn start(coordinator: SocketAddr, token: &Token, script: Script) -> Machine {
        let identity = AgentIdentity {
            name: "machine".into(),
            labels: [].into(),
            workers: 1,
            host: Bytes::new(),
            encoding: measure::ENCODING,
            language: plan::LANGUAGE,
            role: control::Role::Agent,
            calibration: Bytes::new(),
        };
        let coordinator = coordinator.to_string().parse().expect("an address");
        let config = LinkConfig {
            coordinator,
            token: token.clone(),
            identity,
            keeping: Keeping::default(),
            stay: Stay::default(),
        };
        let (link_end, runner_end) = pair();
        let (say, news) = mpsc::unbounded_channel();
        let (tell, assignments) = mpsc::unbounded_channel();
        let (quit, asked) = mpsc::channel(1);
        let say = move |news| drop(say.send(news));
        let link = tokio::spawn(run(config, link_end, say, asked));
        let runner = tokio::spawn(follow(script, runner_end, tell));
        Machine {
            link,
            runner,
            quit,
            news,
            assignments,
        }
    }

    pub async fn news(&mut self) -> News {
        timeout(Duration::from_secs(30), self.news.recv())
            .await
            .expect("news in time")
            .expect("a link")
    }

    pub async fn assignment(&mut self) -> Assignment {
        timeout(Duration::from_secs(30), self.assignments.recv())
            .await
            .expect("in time")
            .expect("a runner")
    }

    /// Waits until the link ends by itself, and returns how.
    pub async fn ended(self) -> Result<(), LinkError> {
        let ended = timeout(Duration::from_secs(30), self.link)
            .await
            .expect("an end in time")
            .expect("no panic");
        self.runner.await.expect("the runner ends with its link");
        ended
    }

    pub async fn quit(self) -> Result<(), LinkError> {
        self.quit.send(Quit::Asked).await.expect("a link");
        self.ended().await
    }
}

struct Firing {
    run: RunId,
    next_at: Instant,
    interval: u32,
}

/// Follows the script until the link ends.
async fn follow(script: Script, mut end: RunnerEnd, tell: mpsc::UnboundedSender<Assignment>) {
    let mut firing: Option<Firing> = None;
    loop {
        let due = firing.as_ref().map(|firing| firing.next_at);
        let reports = tokio::select! {
            order = end.orders.recv() => match order {
                Some(order) => obey(&script, order, &mut firing, &tell),
                None => return,
            },
            () = wait(due) => step(&script, &mut firing),
        };
        for report in reports {
            if end.reports.send(report).await.is_err() {
                return;
            }
        }
    }
}

async fn wait(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn obey(
    script: &Script,
    order: Order,
    firing: &mut Option<Firing>,
    tell: &mpsc::UnboundedSender<Assignment>,
) -> Vec<Report> {
    match order {
        Order::Prepare(assignment) => {
            let run = assignment.run;
            let plan_digest = script
                .digest
                .unwrap_or_else(|| Digest::from_content(assignment.plan.reveal().as_bytes()));
            let _ = tell.send(assignment);
            match &script.problem {
                Some(problem) => vec![Report::NotPrepared {
                    run,
                    problem: problem.clone(),
                }],
                None => vec![Report::Prepared {
                    run,
                    plan_digest,
                    addresses: vec!["127.0.0.1:1".into()],
                    workers: 1,
                    findings: Vec::new(),
                }],
            }
        }
        Order::Start { run, at, .. } => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
            let wait =
                Duration::from_nanos(at.0.checked_sub(now_ns).expect("the start lies ahead"));
            *firing = Some(Firing {
                run,
                next_at: Instant::now() + wait,
                interval: 0,
            });
            vec![Report::Began { run, at }]
        }
        Order::ExtendLease { .. } => vec![],
        Order::Stop { run, .. } => {
            *firing = None;
            vec![ended(run, EndCause::Stopped)]
        }
        Order::TakeOver { .. } | Order::Observe { .. } | Order::Token { .. } => vec![],
        Order::Forget { .. } => {
            *firing = None;
            vec![]
        }
    }
}

fn step(script: &Script, firing: &mut Option<Firing>) -> Vec<Report> {
    let Some(now) = firing else { return vec![] };
    let (run, interval) = (now.run, now.interval);
    now.interval += 1;
    now.next_at += script.every;
    match script.interval_bytes.get(interval as usize) {
        Some(&size) => vec![Report::Interval {
            run,
            interval,
            encoded: vec![interval as u8; size].into(),
        }],
        None => {
            *firing = None;
            vec![ended(run, EndCause::Plan)]
        }
    }
}

fn ended(run: RunId, cause: EndCause) -> Report {
    Report::Ended {
        run,
        cause,
        totals: Bytes::from_static(b"totals"),
        figures: Bytes::new(),
    }
}
