//! A job as a command: shows on the terminal what it tells, asks it to end at a signal, and makes
//! an exit code of how it stands.

mod invitation;
mod result_printer;
mod signals;

pub(crate) use result_printer::ResultPrinter;

use crate::exit::Exit;
use crate::launch::{
    AgentSource, FinalResult, JobNews, JobObserver, LaunchError, StartRequest, StopHandle,
    StopWishes, launch,
};
use crate::progress::Progress;
use crate::terminal::{self, FullScreen};
use anyhow::Context as _;
use control::Token;
use signals::Signals;
use std::cell::RefCell;
use std::net::SocketAddr;

/// The user of a command.
struct Front<'r> {
    request: &'r StartRequest,
    printer: ResultPrinter,
    tui: bool,
    /// The full screen, until a result is printed.
    screen: RefCell<Option<FullScreen>>,
    /// Shows the run under way.
    progress: RefCell<Option<Progress>>,
    /// What was printed; an error if standard output or the summary cannot be written.
    printed: RefCell<anyhow::Result<Option<Box<FinalResult>>>>,
}

/// Makes the runs that are asked for, prints their results by `printer`, and returns how to exit.
/// Progress takes the whole screen for `tui`, if there is one.
///
/// # Errors
/// Something that a run needs cannot be had: a port, a folder, a process.
pub(crate) fn run(
    request: &StartRequest,
    printer: ResultPrinter,
    tui: bool,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    let front = Front {
        request,
        printer,
        tui,
        screen: RefCell::default(),
        progress: RefCell::default(),
        printed: RefCell::new(Ok(None)),
    };
    runtime.block_on(async {
        let signals = Signals::install().context("cannot listen for signals")?;
        let (stop, wishes) = StopHandle::new();
        tokio::select! {
            exit = front.carry_out(wishes) => exit,
            never = signals.pass_on(&stop) => match never {},
        }
    })
}

impl Front<'_> {
    async fn carry_out(&self, wishes: StopWishes) -> anyhow::Result<Exit> {
        let (exit, failure) = match launch(self.request, self, wishes).await {
            Ok(standing) => (Exit::from(standing), None),
            Err(LaunchError::Failed(error)) => (Exit::Failed, Some(error)),
            Err(LaunchError::Unfit(problem)) => {
                terminal::say(problem);
                (Exit::Usage, None)
            }
        };
        drop(self.screen.take());
        if let Some(result) = self.printed.replace(Ok(None))? {
            self.printer.close(&result, exit);
        }
        failure.map_or(Ok(exit), Err)
    }

    /// Takes the screen, and says how agents on other machines join.
    fn begin(&self, address: SocketAddr, token: &Token) {
        if self.tui && terminal::live_style().is_some() {
            self.screen.replace(Some(FullScreen::enter()));
        }
        if let AgentSource::Remote(options) = &self.request.hosting.source {
            let agents = self.request.hosting.agents;
            let is_shown = terminal::has_reader();
            let invitation = invitation::write(options, address, token, agents, is_shown);
            terminal::say_unless(self.printer.quiet, invitation);
        }
    }

    /// Says a line, above the run if one is shown.
    fn write_line(&self, line: String) {
        match &*self.progress.borrow() {
            Some(progress) => progress.say(line),
            None => terminal::say(line),
        }
    }
}

impl JobObserver for Front<'_> {
    fn tell(&self, news: JobNews<'_>) {
        let is_quiet = self.printer.quiet;
        match news {
            JobNews::Listening { address, token } => self.begin(address, token),
            JobNews::Said(_) | JobNews::RunBegan if is_quiet => {}
            JobNews::Said(line) | JobNews::Warned(line) => self.write_line(line),
            JobNews::RunBegan => drop(self.progress.replace(Progress::start())),
            JobNews::RunGoes(view) => {
                if let Some(progress) = &*self.progress.borrow() {
                    progress.show(view);
                }
            }
            JobNews::RunEnded => self.progress.take().into_iter().for_each(Progress::end),
            JobNews::Result(result) => {
                let printed = self.printer.print(&result).map(|()| Some(result));
                *self.printed.borrow_mut() = printed;
            }
        }
    }

    fn is_watched(&self) -> bool {
        terminal::is_watched()
    }
}
