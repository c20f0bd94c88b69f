//! Shows how a run goes, on standard error: a panel that is redrawn in place on a terminal,
//! otherwise a plain line now and then. It has a thread of its own, since a terminal can be stopped
//! (Ctrl-S) and a run must not wait for it.

mod news;
mod panel;
mod run_view;
#[cfg(test)]
mod scene;
mod text;
mod trend;

pub(crate) use news::RunNews;
pub(crate) use run_view::RunView;

use crate::{fleet, terminal};
use control::FleetTime;
use panel::Panel;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trend::Trend;

/// Room for updates that wait for a slow terminal; further ones are left out of the display.
const UPDATES_MAX: usize = 256;

/// How often a terminal is redrawn, so that its clock ticks.
const REDRAW: Duration = Duration::from_millis(250);

/// Shows how a run goes.
#[derive(Debug)]
pub(crate) struct Progress {
    updates: SyncSender<Update>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Update {
    Say(String),
    Show(Box<RunView>),
}

impl Progress {
    /// A display of a run; `None` if the system gives it no thread, and the run goes on unseen.
    pub(crate) fn start() -> Option<Progress> {
        let (updates, told) = sync_channel(UPDATES_MAX);
        let body = move || {
            Screen {
                last_line: fleet::now(),
                view: None,
                trend: Trend::default(),
            }
            .run(&told)
        };
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let thread = thread.spawn(body).ok()?;
        Some(Progress { updates, thread })
    }

    /// Prints a line that stays.
    pub(crate) fn say(&self, line: String) {
        self.tell(Update::Say(line));
    }

    /// Shows this state from now on.
    pub(crate) fn show(&self, view: Box<RunView>) {
        self.tell(Update::Show(view));
    }

    /// Clears what was drawn in place; lines that were printed stay.
    pub(crate) fn end(self) {
        drop(self.updates);
        // A thread that panicked has already reported it.
        let _ = self.thread.join();
    }

    fn tell(&self, update: Update) {
        // A stopped terminal gets what there is room for.
        let _ = self.updates.try_send(update);
    }
}

/// The view that is shown, and its course so far.
struct Screen {
    /// When a line was last written for a pipe, or the display began.
    last_line: FleetTime,
    view: Option<Box<RunView>>,
    trend: Trend,
}

impl Screen {
    fn run(mut self, told: &Receiver<Update>) {
        loop {
            match told.recv_timeout(REDRAW) {
                Ok(Update::Say(line)) => {
                    terminal::say(&line);
                    self.draw();
                }
                Ok(Update::Show(view)) => {
                    view.live.iter().for_each(|live| self.trend.take(live));
                    self.view = Some(view);
                    self.draw();
                }
                Err(RecvTimeoutError::Timeout) => self.draw(),
                Err(RecvTimeoutError::Disconnected) => return terminal::draw(Vec::new()),
            }
        }
    }

    fn draw(&mut self) {
        // Before the first update there is nothing to draw.
        let Some(view) = &self.view else { return };
        let now = fleet::now();
        match terminal::live_style() {
            Some(style) => {
                let panel = Panel {
                    view,
                    trend: &self.trend,
                    now,
                    style,
                    rows: terminal::live_rows(),
                };
                terminal::draw(match terminal::said() {
                    Some(said) => panel.whole(&said),
                    None => panel.inline(),
                });
            }
            None if now.since(self.last_line) >= text::pause(view.run.stage()) => {
                if let Some(line) = text::plain(view, now) {
                    self.last_line = now;
                    terminal::say(line);
                }
            }
            None => {}
        }
    }
}
