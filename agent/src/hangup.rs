//! What a terminal that goes away (SIGHUP) means to an agent: it ends, unless it holds a run. The
//! coordinator counts on it then, and nobody is missing at the terminal.

use control::News;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether the agent holds runs, as its news tell: their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldRunFlag(Arc<Mutex<BTreeSet<String>>>);

impl HeldRunFlag {
    /// Takes in what happened.
    pub(crate) fn learn(&self, news: &News) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match news {
            News::Preparing { run_name }
            | News::Starting { run_name }
            | News::Holding { run_name, .. } => {
                held.insert(run_name.clone());
            }
            News::CannotRun { run_name, .. }
            | News::Released { run_name, .. }
            | News::Dropped { run_name, .. } => {
                held.remove(run_name);
            }
            News::Joined { .. }
            | News::Away { .. }
            | News::Notice(_)
            | News::LeaseExpired { .. }
            | News::MissedStart { .. }
            | News::Outranked { .. }
            | News::CannotSpool { .. }
            | News::Ended { .. } => {}
        }
    }

    fn is_set(&self) -> bool {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !held.is_empty()
    }
}

/// Hangups that end the agent.
pub(crate) struct Hangups {
    /// Nothing under `nohup`: what ignores a hangup goes on.
    signal: Option<Signal>,
    held_run: HeldRunFlag,
}

impl Hangups {
    pub(crate) fn install(held_run: HeldRunFlag) -> std::io::Result<Hangups> {
        let wanted = (!host::ignores_hangup()).then(|| signal(SignalKind::hangup()));
        Ok(Hangups {
            signal: wanted.transpose()?,
            held_run,
        })
    }

    /// Waits for a hangup while no run is held.
    pub(crate) async fn next(&mut self) {
        while let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            if !self.held_run.is_set() {
                return;
            }
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::HeldRunFlag;
    use control::News;

    #[test]
    fn run_is_held_from_preparing_to_its_release() {
        let held = HeldRunFlag::default();
        let run_name = || "edge".to_owned();
        for (news, expected) in [
            (News::Notice(String::new()), false),
            (
                News::Preparing {
                    run_name: run_name(),
                },
                true,
            ),
            (
                News::LeaseExpired {
                    run_name: run_name(),
                },
                true,
            ),
            (
                News::Released {
                    run_name: run_name(),
                    dropped_intervals: 0,
                },
                false,
            ),
        ] {
            held.learn(&news);
            assert_eq!(held.is_set(), expected, "{news:?}");
        }
    }
}
