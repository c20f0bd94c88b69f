//! From handing out the plan to each agent's answer.

use super::{AnswerWait, FleetRun, RunPhase};
use crate::clock::nanoseconds;
use crate::fleet_action::Actions;
use crate::participant::{Departure, ParticipantStage};
use crate::wire::{clock, cut};
use crate::{Digest, FileParts, Finding, FleetTime, LEASE_MAX, LostPolicy, RunEvent};
use proto::from_coordinator::Message as Down;
use proto::{Bytes, Prepare, Prepared, Want};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time an agent has to answer a plan once its files have arrived; names must be resolved.
const PREPARE_MAX: Duration = Duration::from_secs(120);

/// The least rate at which files travel to all agents together: less than a tenth of 100 Mbit/s.
const FILE_BYTES_PER_SECOND: u64 = 1 << 20;

/// The least rate at which an agent reads, hashes and indexes files that it has: a slow disk's.
const READ_BYTES_PER_SECOND: u64 = 32 << 20;

/// Findings of one agent's preflight that are passed on.
const FINDINGS_MAX: usize = 32;

/// How long to wait for an agent that goes away while the others prepare.
const AWAY_PREPARING_MAX: Duration = Duration::from_secs(10);

/// Cuts a finding's text to the length that is shown and saved.
fn finding(finding: proto::Finding) -> Finding {
    Finding {
        text: cut(finding.text),
        is_forced: finding.forced,
    }
}

impl FleetRun {
    /// Begins to wait for answers, after `attempts` start instants were announced in vain.
    pub(super) fn wait_for_answers(&mut self, now: FleetTime, attempts: u32) {
        let bytes = self
            .files
            .bytes(self.participants.len() as u32, &self.request.files);
        let sending = Duration::from_secs(bytes / FILE_BYTES_PER_SECOND);
        let reading = Duration::from_secs(self.request.unsent_bytes / READ_BYTES_PER_SECOND);
        let within = PREPARE_MAX + sending + reading;
        self.phase = RunPhase::Preparing(AnswerWait {
            within,
            until: now.after(within),
            attempts,
        });
    }

    pub(super) fn prepare(&mut self, index: usize, out: &mut Actions) {
        let request = &self.request;
        let (mut needs, mut storable, mut files_bytes) = (Vec::new(), Vec::new(), 0);
        for file in self.files.of_agent(index as u32, &request.files) {
            needs.push(file.sha256.to_wire());
            storable.extend(file.is_storable.then(|| file.sha256.to_wire()));
            files_bytes += file.content.reveal().len() as u64;
        }
        let prepare = Prepare {
            run_id: request.run.to_wire(),
            run_name: request.name.clone(),
            plan: request.plan.reveal().clone(),
            plan_digest: request.plan_digest.to_wire(),
            agent_index: index as u32,
            agents: request.agents,
            files: needs.len() as u32,
            files_bytes,
            minted: request
                .minted
                .get(index)
                .map_or_else(Bytes::new, |digest| digest.to_wire()),
            epoch: request.epoch,
            lease_ns: nanoseconds(request.rules.lease),
            needs,
            force: request.force,
            storable,
        };
        self.participants[index].ask_for_wants();
        self.send(index, Down::Prepare(prepare), out);
    }

    /// Sends the files that an agent lacks, among those it needs: no agent gets another's key by
    /// asking for it.
    pub(super) fn on_want(&mut self, index: usize, want: &Want, out: &mut Actions) {
        let is_preparing = self.participants[index].stage() == ParticipantStage::Preparing;
        // Once per stream, so that an agent that asks again and again is not sent everything again.
        if !is_preparing || !self.participants[index].wants() {
            return;
        }
        let wanted: BTreeSet<&Bytes> = want.sha256.iter().collect();
        let needed = self.files.of_agent(index as u32, &self.request.files);
        let files: Vec<(Digest, Bytes)> = needed
            .filter(|file| wanted.contains(&file.sha256.to_wire()))
            .map(|file| (file.sha256, file.content.reveal().clone()))
            .collect();
        if let Some(at) = self.participants[index]
            .connection()
            .filter(|_| !files.is_empty())
        {
            out.send_files(at, FileParts::new(self.request.run, files));
        }
    }

    pub(super) fn on_prepared(
        &mut self,
        now: FleetTime,
        index: usize,
        prepared: Prepared,
        out: &mut Actions,
    ) {
        // A second answer, or one that came too late.
        if self.participants[index].stage() != ParticipantStage::Preparing {
            return;
        }
        let reading = clock(prepared.clock);
        self.participants[index].set_clock(reading);
        let Some(clock) = reading else {
            let problem = "its clock could not be measured".to_owned();
            let problem = self.problem_of(index, &prepared).unwrap_or(problem);
            return self.cannot_start(index, problem, out);
        };
        if let Some(problem) = self.problem_of(index, &prepared) {
            return self.cannot_start(index, problem, out);
        }
        self.set_stage(index, ParticipantStage::Ready);
        out.tell(
            self.id(),
            RunEvent::Ready {
                agent: index as u32,
                addresses: prepared.addresses,
                workers: prepared.workers,
                clock,
            },
        );
        let findings = prepared.findings.into_iter().take(FINDINGS_MAX);
        let findings: Vec<Finding> = findings.map(finding).collect();
        if !findings.is_empty() {
            out.tell(
                self.id(),
                RunEvent::Preflight {
                    agent: index as u32,
                    findings,
                },
            );
        }
        for token in &self.request.tokens {
            self.send_token(now, index, token, out);
        }
        // The agent was away when the instant was announced to the others.
        if let RunPhase::Arming(attempt) = self.phase {
            self.send_start(index, attempt, out);
        }
    }

    /// What keeps the agent from running the plan, if anything.
    fn problem_of(&self, index: usize, prepared: &Prepared) -> Option<String> {
        if !prepared.problem.is_empty() {
            return Some(cut(prepared.problem.clone()));
        }
        let here = self.request.plan_digest;
        let there = Digest::from_wire(&prepared.plan_digest);
        if there == Some(here) {
            return None;
        }
        let there = there.map_or_else(|| "no digest".into(), Digest::short);
        let version = &self.participants[index].facts().version;
        Some(format!(
            "it reads the plan as {there}, and here it is {}; run the coordinator's version there \
             (its own is {version})",
            here.short()
        ))
    }

    /// Gives more time to an agent that is busy with another coordinator's run: it answers once
    /// that run is over, at the latest when its lease expires. Each agent can do this once.
    pub(super) fn wait_for_busy(&mut self, now: FleetTime, index: usize) {
        let agent = &mut self.participants[index];
        if agent.stage() != ParticipantStage::Preparing || !agent.may_be_busy() {
            return;
        }
        if let RunPhase::Preparing(wait) = &mut self.phase {
            wait.until = wait.until.max(now.after(LEASE_MAX + wait.within));
        }
    }

    /// Goes on without an agent that cannot start, if the run tolerates the loss. Otherwise the run
    /// does not start.
    pub(super) fn cannot_start(&mut self, index: usize, problem: String, out: &mut Actions) {
        if self.losses < self.losses_max() {
            return self.lose(index, &problem, out);
        }
        self.losses += 1;
        self.set_stage(index, ParticipantStage::Barred);
        out.tell(
            self.id(),
            RunEvent::Problem {
                agent: index as u32,
                problem,
            },
        );
    }

    /// How many agents the run can lose.
    pub(super) fn losses_max(&self) -> u32 {
        match self.request.rules.lost {
            LostPolicy::Fail => 0,
            LostPolicy::Continue | LostPolicy::Redistribute => self.request.rules.tolerate,
        }
    }

    /// Whether the run has lost more agents than it tolerates.
    pub(super) fn is_spoilt(&self) -> bool {
        self.losses > self.losses_max()
    }

    pub(super) fn tick_preparing(&mut self, now: FleetTime, out: &mut Actions) {
        for index in 0..self.participants.len() {
            let agent = &self.participants[index];
            if agent.is_over() {
                continue;
            }
            let is_away =
                |(since, _): (FleetTime, Departure)| now.since(since) >= AWAY_PREPARING_MAX;
            if agent.gone_since().is_some_and(is_away) {
                self.lose(
                    index,
                    "it went away before the start and did not come back",
                    out,
                );
                continue;
            }
            let RunPhase::Preparing(AnswerWait { within, until, .. }) = self.phase else {
                continue;
            };
            if now >= until && agent.stage() == ParticipantStage::Preparing {
                let problem = format!("no answer to the plan within {} s", within.as_secs());
                self.cannot_start(index, problem, out);
            }
        }
    }
}
