//! A job that is driven without a terminal and without a signal, as by a standing service.

use super::*;
use crate::cli::{AgentCommand, Cli, Command};
use crate::job::ResultRules;
use control::Token;
use plan::Campaign;
use run_folder::RunOrigin;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use target::{Config, RunningTarget};

/// Keeps in words what it is told, and asks for the end: in the pause after the first run, or while
/// the second run fires.
struct Driver {
    told: RefCell<Vec<String>>,
    stop: StopHandle,
    stops_in_pause: bool,
    agent: RefCell<Option<JoinHandle<()>>>,
}

impl JobObserver for Driver {
    fn tell(&self, news: JobNews<'_>) {
        let mut told = self.told.borrow_mut();
        let runs = told.iter().filter(|word| *word == "run began").count();
        let word = match news {
            JobNews::Listening { address, token } => {
                *self.agent.borrow_mut() = Some(join(address, token));
                "listening".to_owned()
            }
            // The figures of a run depend on the machine, and on a busy one an agent can miss the
            // first instant.
            JobNews::Said(line)
                if line.starts_with("  ") || line.starts_with("the start is tried again") =>
            {
                return;
            }
            JobNews::Said(line) => line,
            JobNews::Warned(line) => format!("warning: {line}"),
            JobNews::RunBegan => "run began".to_owned(),
            JobNews::RunGoes(view) => {
                let is_asked = told.iter().any(|word| word == "asked to stop");
                if runs < 2 || !view.run.has_begun() || is_asked {
                    return;
                }
                self.stop.stop();
                "asked to stop".to_owned()
            }
            JobNews::RunEnded => {
                if self.stops_in_pause {
                    self.stop.stop();
                }
                "run ended".to_owned()
            }
            JobNews::Result(result) => match &result.document {
                Some(JobDocument::Campaign(all)) => {
                    let runs = all.runs.iter().map(|run| run.folder.as_str());
                    format!("{:?}: {}", all.state, Vec::from_iter(runs).join(", "))
                }
                other => format!("{other:?}"),
            },
        };
        told.push(word);
    }

    fn is_watched(&self) -> bool {
        false
    }
}

/// An agent in a thread, which ends with the coordinator.
fn join(address: SocketAddr, token: &Token) -> JoinHandle<()> {
    let flags = ["--once", "--name=a", "--workers=1"].map(str::to_owned);
    let words = ["coordinator", "agent", "join"].map(str::to_owned);
    let token = ["--token".to_owned(), token.reveal(), address.to_string()];
    let words = words.into_iter().chain(flags).chain(token);
    let cli = Cli::from_words(words.map(Into::into).collect()).unwrap();
    let Command::Agent {
        command: AgentCommand::Join(args),
    } = cli.command
    else {
        panic!("it is an agent")
    };
    // It fails, as it was stopped before it had done its part.
    std::thread::spawn(move || drop(agent::join(&args)))
}

fn request(target: SocketAddr, folder: &Path) -> StartRequest {
    let plan_text = format!(
        "name = 'two'\ntarget.url = 'http://{target}/'\nload = {{ connections = 1 }}
variants = {{ a = {{ load.requests = 20 }}, b = {{ load.duration = '1h' }} }}
repeat.pause = '100ms'"
    );
    let mut files = crate::plan_file::Folder(folder.to_owned());
    StartRequest {
        campaign: Campaign::parse(&plan_text, &mut files).unwrap(),
        plan_text,
        origin: RunOrigin::default(),
        hosting: Hosting {
            agents: 1,
            source: AgentSource::Remote(JoinOptions {
                address: ([127, 0, 0, 1], 0).into(),
                state: folder.join("state"),
                token_file: None,
            }),
            histograms_by_agent: false,
            metrics: None,
            otlp: None,
            dashboard: None,
            commands: RunCommands::none(),
        },
        output: Some(folder.join("runs")),
        run_name: None,
        resume: None,
        force: true,
        rules: ResultRules::default(),
    }
}

#[test]
fn job_is_told_and_stopped_without_a_terminal_or_a_signal() {
    let config = Config {
        tls: None,
        ..Config::default()
    };
    let target = RunningTarget::new(config).unwrap();
    let first = [
        "listening",
        "run 1 of 2: a",
        "run began",
        "agent a joined (1 of 1)",
        "run ended",
    ];
    let second = [
        "run 2 of 2: b",
        "run began",
        "asked to stop",
        "stopping; once more stops at once",
        "run ended",
        "Interrupted: 01-a-1, 02-b-1",
    ];
    for (stops_in_pause, rest) in [(true, &["Interrupted: 01-a-1"][..]), (false, &second)] {
        let folder = tempfile::tempdir().unwrap();
        let (stop, wishes) = StopHandle::new();
        let driver = Driver {
            told: RefCell::default(),
            stop,
            stops_in_pause,
            agent: RefCell::default(),
        };
        let request = request(target.address(), folder.path());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let standing = runtime.block_on(launch(&request, &driver, wishes)).unwrap();
        assert_eq!(driver.told.take(), [&first, rest].concat());
        assert_eq!(standing, JobStanding::Stopped);
        driver.agent.take().unwrap().join().unwrap();
    }
    let _counts = target.stop();
}

#[tokio::test]
async fn wishes_that_come_at_once_count_each() {
    let (stop, mut wishes) = StopHandle::new();
    stop.stop();
    stop.stop();
    wishes.next().await;
    wishes.next().await;
    drop(stop);
    tokio::select! {
        () = wishes.next() => panic!("there were two"),
        () = tokio::task::yield_now() => {}
    }
}
