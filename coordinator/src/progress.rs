//! Shows how a run goes, on standard error: a few lines redrawn in place on a terminal, a plain
//! line now and then elsewhere. On a thread of its own, since a terminal may be stopped (Ctrl-S)
//! and a run must not wait for it.

mod news;
mod run_view;
mod text;

pub(crate) use news::RunNews;
pub(crate) use run_view::RunView;

use crate::terminal;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Updates that wait for a slow terminal; what is beyond is left out of the display.
const UPDATES_MAX: usize = 256;

/// How often a terminal is redrawn: the clock in it ticks.
const REDRAW: Duration = Duration::from_millis(250);

/// Shows how a run goes, or nothing.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    updates: SyncSender<Update>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Update {
    Say(String),
    Show(Box<RunView>),
}

impl Progress {
    /// A display that shows nothing.
    pub(crate) fn quiet() -> Progress {
        Progress { shown: None }
    }

    /// Shows what it is told.
    pub(crate) fn shown() -> Progress {
        let (updates, told) = sync_channel(UPDATES_MAX);
        let body = move || {
            Screen {
                drawn: 0,
                last_line: Instant::now(),
                view: None,
            }
            .run(&told)
        };
        // Without a thread the run goes on unseen.
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(body)
            .ok();
        Progress {
            shown: thread.map(|thread| Shown { updates, thread }),
        }
    }

    /// A line that stays.
    pub(crate) fn say(&self, line: impl Into<String>) {
        self.tell(Update::Say(line.into()));
    }

    /// The state of things from now on.
    pub(crate) fn show(&self, view: RunView) {
        self.tell(Update::Show(Box::new(view)));
    }

    /// Clears what was drawn in place; lines that were said stay.
    pub(crate) fn end(self) {
        if let Some(Shown { updates, thread }) = self.shown {
            drop(updates);
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }

    fn tell(&self, update: Update) {
        if let Some(shown) = &self.shown {
            // A terminal that is stopped gets what there is room for.
            let _ = shown.updates.try_send(update);
        }
    }
}

/// What is on the terminal.
struct Screen {
    /// Lines that are redrawn in place.
    drawn: usize,
    /// When a line was written for a pipe, or the display began.
    last_line: Instant,
    view: Option<Box<RunView>>,
}

impl Screen {
    fn run(mut self, told: &Receiver<Update>) {
        loop {
            match told.recv_timeout(REDRAW) {
                Ok(Update::Say(line)) => self.say(&line),
                Ok(Update::Show(view)) => {
                    self.view = Some(view);
                    self.draw();
                }
                Err(RecvTimeoutError::Timeout) => self.draw(),
                Err(RecvTimeoutError::Disconnected) => return self.erase(),
            }
        }
    }

    fn say(&mut self, line: &str) {
        self.erase();
        terminal::say(line);
        self.draw();
    }

    fn draw(&mut self) {
        // Before the first update there is nothing to draw.
        let Some(view) = &self.view else { return };
        let now = Instant::now();
        match terminal::live_style() {
            Some(style) => {
                let lines = text::lines(view, now, style);
                write(&text::redrawn(&lines, self.drawn));
                self.drawn = lines.len();
            }
            None if now >= self.last_line + text::pause(view.roster.stage()) => {
                if let Some(line) = text::plain(view, now) {
                    self.last_line = now;
                    terminal::say(line);
                }
            }
            None => {}
        }
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            write(&text::redrawn(&[], self.drawn));
            self.drawn = 0;
        }
    }
}

/// In one call, so that nothing flickers; there is nobody to tell where it fails.
fn write(content: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = terminal
        .write_all(content.as_bytes())
        .and_then(|()| terminal.flush());
}
