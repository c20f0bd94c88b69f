//! A run that was made: what is reported of it to the user, and how to exit for it.

use super::result_printer::{ResultPlace, ResultPrinter};
use super::run_ending::RunEnding;
use crate::exit::{Exit, ExitRules};
use crate::record::FinishedRecord;
use crate::terminal;
use analysis::{Document, RunState, Verdict};

/// A run that was made.
#[derive(Debug)]
pub(super) struct FinishedRun {
    /// How the run ended.
    pub(super) ending: RunEnding,
    /// Its record.
    pub(super) record: FinishedRecord,
}

impl FinishedRun {
    /// Reports problems apart from the measurement, and returns how to exit for them:
    /// [`Exit::Failed`], [`Exit::Interrupted`], or [`Exit::Passed`].
    pub(super) fn report_failures(&self) -> Exit {
        self.ending.problems.iter().for_each(terminal::say);
        self.say_unsaved();
        self.failure().unwrap_or(Exit::Passed)
    }

    /// Prints the result of the only run, and returns how to exit.
    pub(super) fn conclude(
        mut self,
        printer: &ResultPrinter,
        rules: ExitRules,
    ) -> anyhow::Result<Exit> {
        self.ending.problems.iter().for_each(terminal::say);
        if self.ending.has_begun {
            self.print(printer)?;
        } else {
            self.say_unsaved();
        }
        let exit = self.exit(rules);
        let saved = match (&self.record.folder, self.record.saved_in()) {
            (None, _) => ResultPlace::NotAsked,
            (Some(_), Some(folder)) => ResultPlace::Folder(folder),
            (Some(folder), None) => ResultPlace::NotIn(folder),
        };
        printer.close(&self.headline(), exit, saved);
        Ok(exit)
    }

    fn headline(&self) -> String {
        if self.ending.has_begun {
            report::headline(&self.record.document)
        } else {
            "nothing was measured".to_owned()
        }
    }

    /// Returns the exit for the result and for problems apart from it.
    pub(super) fn exit(&self, rules: ExitRules) -> Exit {
        exit(
            &self.record.document,
            &self.ending,
            rules,
            self.record.unsaved.is_empty(),
        )
    }

    /// Whether it ran to its end with a valid result.
    pub(super) fn is_trusted(&self) -> bool {
        let document = &self.record.document;
        let is_valid = document.verdict.verdict != Verdict::Invalid;
        is_valid && document.run.state == RunState::Complete
    }

    fn failure(&self) -> Option<Exit> {
        failure(&self.ending, self.record.unsaved.is_empty())
    }

    /// Prints the result. What could not be saved goes into its notes: a reader would not learn of
    /// it elsewhere.
    fn print(&mut self, printer: &ResultPrinter) -> anyhow::Result<()> {
        let unsaved = self.record.unsaved.iter();
        let notes = unsaved.map(|what| format!("not saved: {what}"));
        self.record.document.notes.extend(notes);
        let document = &self.record.document;
        printer.print(|format, style| format.render(document, style))
    }

    fn say_unsaved(&self) {
        for what in &self.record.unsaved {
            terminal::say(format_args!("not saved: {what}"));
        }
    }
}

fn exit(document: &Document, ending: &RunEnding, rules: ExitRules, is_saved: bool) -> Exit {
    let result = if ending.has_begun {
        Exit::from_document(document, rules)
    } else {
        Exit::Passed
    };
    failure(ending, is_saved).map_or(result, |failure| failure.max(result))
}

/// Returns the exit for problems apart from the measurement. [`Exit`] is in ascending order of
/// precedence.
fn failure(ending: &RunEnding, is_saved: bool) -> Option<Exit> {
    let failed = (ending.has_failed() || !is_saved).then_some(Exit::Failed);
    let interrupted = ending.is_interrupted.then_some(Exit::Interrupted);
    failed.max(interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{CollectorSetup, ResultCollector};
    use control::{RunOutcome, Stop};
    use plan::Plan;
    use std::path::PathBuf;

    fn document(verdict: Verdict, threshold_failed: bool) -> Document {
        let text = "target.builtin = true\nload = { connections = 1, requests = 1 }\nthresholds = \
                    { \"errors.count\" = \"<= 0\" }";
        let plan = Plan::parse(text, &mut crate::plan_file::Folder(PathBuf::new())).unwrap();
        let setup = CollectorSetup {
            tool_version: String::new(),
            run_id: String::new(),
            started_at: String::new(),
            plan_text: String::new(),
            agents: Vec::new(),
        };
        let mut document = ResultCollector::new(setup, &plan).document(RunState::Complete);
        document.verdict.verdict = verdict;
        document
            .thresholds
            .iter_mut()
            .for_each(|judgement| judgement.passed = !threshold_failed);
        document
    }

    #[test]
    fn exit_code_is_the_documented_one() {
        let ran = RunEnding {
            has_begun: true,
            outcome: Some(RunOutcome::Ran),
            ..RunEnding::default()
        };
        let interrupted = RunEnding {
            is_interrupted: true,
            ..ran.clone()
        };
        let broken = RunEnding {
            problems: vec!["the built-in target ended".into()],
            ..ran.clone()
        };
        let never = RunEnding {
            outcome: Some(RunOutcome::NotStarted),
            ..RunEnding::default()
        };
        let stopped = RunEnding {
            outcome: Some(RunOutcome::StoppedBeforeStart(Stop::Drain)),
            is_interrupted: true,
            ..RunEnding::default()
        };
        for (verdict, threshold_failed, ending, is_saved, code) in [
            (Verdict::LoadMet, false, &ran, true, 0),
            (Verdict::Undetermined, false, &ran, true, 0),
            (Verdict::LoadMet, true, &ran, true, 1),
            (Verdict::Invalid, true, &ran, true, 3),
            (Verdict::ClientBound, false, &ran, true, 3),
            (Verdict::LoadMet, false, &ran, false, 4),
            (Verdict::Invalid, true, &ran, false, 4),
            (Verdict::Invalid, false, &broken, true, 4),
            (Verdict::Invalid, true, &interrupted, true, 130),
            (Verdict::LoadMet, false, &interrupted, false, 4),
            (Verdict::Invalid, false, &never, true, 4),
            (Verdict::Invalid, false, &stopped, true, 130),
        ] {
            let document = document(verdict, threshold_failed);
            assert_eq!(
                exit(&document, ending, ExitRules::default(), is_saved).code(),
                code,
                "{verdict:?} {threshold_failed} {ending:?} {is_saved}"
            );
        }
    }
}
