//! A run that was made: what a job knows of it, and what its user is shown.

use super::final_result::{FinalResult, JobDocument, ResultPlace};
use super::run_ending::RunEnding;
use crate::job::{JobStanding, RunFacts};
use crate::record::FinishedRecord;

/// A run that was made.
#[derive(Debug)]
pub(super) struct FinishedRun {
    /// How the run ended.
    pub(super) ending: RunEnding,
    /// Its record.
    pub(super) record: FinishedRecord,
}

impl FinishedRun {
    /// What a job is to know of it.
    pub(super) fn to_facts(&self, lacks_agents: bool) -> RunFacts {
        RunFacts {
            document: self.record.document.clone(),
            folder: self.record.folder_name(),
            has_begun: self.ending.has_begun,
            is_interrupted: self.ending.is_interrupted,
            has_failed: self.ending.has_failed() || !self.record.unsaved.is_empty(),
            problems: [self.ending.problems.clone(), self.unsaved()].concat(),
            lacks_agents,
        }
    }

    /// The result of the only run.
    pub(super) fn into_result(self) -> FinalResult {
        let mut unsaved = self.unsaved();
        let place = match (&self.record.folder, self.record.saved_in()) {
            (None, _) => ResultPlace::NotAsked,
            (Some(_), Some(folder)) => ResultPlace::Folder(folder.to_owned()),
            (Some(folder), None) => ResultPlace::NotIn(folder.clone()),
        };
        let mut document = self.record.document;
        if self.ending.has_begun {
            // A reader of the document would not learn of it elsewhere.
            document.notes.append(&mut unsaved);
        }
        FinalResult {
            document: (self.ending.has_begun).then_some(JobDocument::Run(document)),
            unsaved,
            place,
            problems: self.ending.problems,
            standing: JobStanding::Held,
        }
    }

    /// Sentences about what could not be saved.
    fn unsaved(&self) -> Vec<String> {
        let what = self.record.unsaved.iter();
        what.map(|what| format!("not saved: {what}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::ResultRules;
    use analysis::{CollectorSetup, Document, ResultCollector, RunState, Verdict};
    use control::{RunOutcome, Stop};
    use plan::Plan;
    use std::path::PathBuf;

    fn document(verdict: Verdict, threshold_failed: bool) -> Document {
        let text = "target.builtin = true\nload = { connections = 1, requests = 1 }\nthresholds = \
                    { \"errors.count\" = \"<= 0\" }";
        let plan = Plan::parse(text, &mut crate::plan_file::Folder(PathBuf::new())).unwrap();
        let mut document =
            ResultCollector::new(CollectorSetup::default(), &plan).document(RunState::Complete);
        document.verdict.verdict = verdict;
        document
            .thresholds
            .iter_mut()
            .for_each(|judgement| judgement.passed = !threshold_failed);
        document
    }

    #[test]
    fn standing_is_the_worst_that_is_documented() {
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
        use JobStanding::{Failed, Held, Invalid, Missed, Stopped};
        for (verdict, threshold_failed, ending, is_saved, expected) in [
            (Verdict::LoadMet, false, &ran, true, Held),
            (Verdict::Undetermined, false, &ran, true, Held),
            (Verdict::LoadMet, true, &ran, true, Missed),
            (Verdict::Invalid, true, &ran, true, Invalid),
            (Verdict::ClientBound, false, &ran, true, Invalid),
            (Verdict::LoadMet, false, &ran, false, Failed),
            (Verdict::Invalid, true, &ran, false, Failed),
            (Verdict::Invalid, false, &broken, true, Failed),
            (Verdict::Invalid, true, &interrupted, true, Stopped),
            (Verdict::LoadMet, false, &interrupted, false, Failed),
            (Verdict::Invalid, false, &never, true, Failed),
            (Verdict::Invalid, false, &stopped, true, Stopped),
        ] {
            let run = FinishedRun {
                ending: ending.clone(),
                record: FinishedRecord {
                    document: document(verdict, threshold_failed),
                    is_stored: is_saved,
                    unsaved: Vec::from_iter((!is_saved).then(|| "events.jsonl".to_owned())),
                    folder: None,
                    has_result: false,
                },
            };
            let standing = run.to_facts(false).standing(ResultRules::default());
            assert_eq!(
                standing, expected,
                "{verdict:?} {threshold_failed} {ending:?} {is_saved}"
            );
        }
    }
}
