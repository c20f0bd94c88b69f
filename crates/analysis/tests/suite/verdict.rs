//! Verdicts and exit codes of documents.

use crate::scene::{CLOSED, OPEN, QUIET, Second, collector, cpu, document, fire};
use analysis::{
    AgentEndCause, CampaignDocument, Document, PreflightFinding, RunState, RunSummary, StartSkew,
    Verdict, VerdictRecord, exit_code,
};

#[test]
fn verdict_follows_from_load_and_room() {
    let late = Second {
        response_ms: 60,
        delay_ms: 40,
        ..QUIET
    };
    let lagging = Second {
        lag_ms: 40,
        ..QUIET
    };
    let slow_server = Second {
        response_ms: 3040,
        service_ms: 3000,
        wait_ms: 40,
        ..QUIET
    };
    let not_sent = Second {
        not_sent: 1,
        ..QUIET
    };
    let failing = Second {
        timed_out: 1,
        ..QUIET
    };
    for (what, load, content, worker, machine, verdict) in [
        ("open, in time", OPEN, QUIET, 0.3, 0.3, Verdict::LoadMet),
        (
            "open, in time, though busy",
            OPEN,
            QUIET,
            0.95,
            0.99,
            Verdict::ClientBound,
        ),
        (
            "open, late, worker busy",
            OPEN,
            late,
            0.95,
            0.5,
            Verdict::ClientBound,
        ),
        (
            "open, late, machine busy",
            OPEN,
            late,
            0.5,
            0.99,
            Verdict::ClientBound,
        ),
        (
            "open, late by itself, idle",
            OPEN,
            late,
            0.3,
            0.3,
            Verdict::Invalid,
        ),
        (
            "open, slow to handle what is ready, idle",
            OPEN,
            lagging,
            0.3,
            0.3,
            Verdict::Invalid,
        ),
        (
            "open, waited for connections, idle",
            OPEN,
            slow_server,
            0.3,
            0.3,
            Verdict::Undetermined,
        ),
        (
            "open, waited for connections, worker busy",
            OPEN,
            slow_server,
            0.95,
            0.3,
            Verdict::ClientBound,
        ),
        (
            "open, not sent, worker busy",
            OPEN,
            not_sent,
            0.95,
            0.3,
            Verdict::ClientBound,
        ),
        (
            "open, not sent, idle",
            OPEN,
            not_sent,
            0.3,
            0.3,
            Verdict::Undetermined,
        ),
        (
            "open, in time, many errors",
            OPEN,
            failing,
            0.3,
            0.3,
            Verdict::Undetermined,
        ),
        (
            "closed, idle",
            CLOSED,
            QUIET,
            0.5,
            0.5,
            Verdict::Undetermined,
        ),
        (
            "closed, slow to handle what is ready",
            CLOSED,
            lagging,
            0.5,
            0.5,
            Verdict::ClientBound,
        ),
        (
            "closed, worker busy",
            CLOSED,
            QUIET,
            0.9,
            0.5,
            Verdict::ClientBound,
        ),
        (
            "closed, machine busy",
            CLOSED,
            QUIET,
            0.5,
            0.95,
            Verdict::ClientBound,
        ),
    ] {
        let document = document(load, content, cpu(worker, machine));
        assert_eq!(
            document.verdict.verdict, verdict,
            "{what}: {:?}",
            document.verdict
        );
        assert!(!document.verdict.evidence.is_empty(), "{what}");
        assert_eq!(
            document.verdict.missing.is_empty(),
            verdict != Verdict::Undetermined,
            "{what}"
        );
    }
}

#[test]
fn evidence_holds_the_numbers() {
    let evidence = |load, content, worker| {
        document(load, content, cpu(worker, 0.2))
            .verdict
            .evidence
            .join("; ")
    };
    let late = Second {
        delay_ms: 40,
        ..QUIET
    };
    assert!(
        evidence(OPEN, late, 0.95).contains("40.0 ms or more after they were due"),
        "{}",
        evidence(OPEN, late, 0.95)
    );
    assert!(evidence(OPEN, late, 0.95).contains("95.0 % busy"));
    let busy_with_others = analysis::CpuFigures {
        process_share_mean: 0.12,
        ..cpu(0.1, 1.0)
    };
    let record = document(OPEN, late, busy_with_others).verdict;
    assert!(
        record
            .evidence
            .join("; ")
            .contains("its machine's CPUs were 100 % busy; the agent itself kept 0.12 CPUs busy"),
        "{record:?}"
    );
    let quiet = evidence(CLOSED, QUIET, 0.5);
    let room =
        "workers were at most 50.0 % busy (mean 50.0 %), machines' CPUs together at most 20.0 %";
    assert!(quiet.contains(room), "{quiet}");
    let short = document(CLOSED, QUIET, cpu(0.5, 0.0))
        .verdict
        .evidence
        .join("; ");
    assert!(
        short.ends_with("(mean 50.0 %)"),
        "nothing is known of the machine: {short}"
    );
    assert!(
        evidence(OPEN, QUIET, 0.5).contains("80 of 80 were answered"),
        "{}",
        evidence(OPEN, QUIET, 0.5)
    );
}

#[test]
fn run_that_cannot_be_trusted_is_invalid() {
    type Spoil = fn(&mut analysis::ResultCollector);
    let cases: [(&str, Spoil); 4] = [
        ("began 80.0 ms", |collector| {
            collector.began(1, 80_000_000, 1000)
        }),
        ("agent two lost its coordinator", |collector| {
            collector.ended(1, ended(AgentEndCause::LeaseExpired))
        }),
        ("agent two failed: no", |collector| {
            collector.ended(1, ended(AgentEndCause::Failed))
        }),
        ("agent two was lost: no;", |collector| {
            collector.ended(1, ended(AgentEndCause::Lost))
        }),
    ];
    for (reason, spoil) in cases {
        let mut collector = collector(CLOSED, "");
        fire(&mut collector, QUIET, cpu(0.3, 0.3));
        spoil(&mut collector);
        let document = collector.document(RunState::Complete);
        assert_eq!(document.verdict.verdict, Verdict::Invalid, "{reason}");
        let evidence = document.verdict.evidence.join("; ");
        assert!(evidence.contains(reason), "{reason}: {evidence}");
    }
    let nothing = collector(CLOSED, "").document(RunState::Incomplete).verdict;
    let evidence = nothing.evidence.join("; ");
    assert!(
        evidence.contains("never finished") && evidence.contains("no operation ended"),
        "{evidence}"
    );
}

fn ended(cause: AgentEndCause) -> analysis::AgentEnd {
    analysis::AgentEnd {
        cause: Some(cause),
        text: "no".into(),
        ..analysis::AgentEnd::default()
    }
}

#[test]
fn one_agent_has_no_skew_and_a_bound_counts_as_skew() {
    let mut document = document(CLOSED, QUIET, cpu(0.3, 0.3));
    assert_eq!(
        document.skew,
        Some(StartSkew {
            skew_ns: 2_000_000,
            bound_ns: 1_500_000
        })
    );
    document.skew = None;
    let mut unsure = collector(CLOSED, "");
    fire(&mut unsure, QUIET, cpu(0.3, 0.3));
    unsure.began(1, 0, 60_000_000);
    assert_eq!(
        unsure.document(RunState::Complete).verdict.verdict,
        Verdict::Invalid
    );
}

#[test]
fn exit_code_puts_trust_before_thresholds() {
    let judged = |passed: Option<bool>, verdict: Verdict| -> Document {
        let thresholds = if passed.is_some() {
            "\"errors.share\" = \"<= 0.5\"\n"
        } else {
            ""
        };
        let mut collector = collector(CLOSED, thresholds);
        fire(&mut collector, QUIET, cpu(0.3, 0.3));
        let mut document = collector.document(RunState::Complete);
        document
            .thresholds
            .iter_mut()
            .for_each(|threshold| threshold.passed = passed == Some(true));
        document.verdict.verdict = verdict;
        document
    };
    for (passed, verdict, strict, code) in [
        (None, Verdict::LoadMet, false, 0),
        (None, Verdict::Undetermined, true, 0),
        (None, Verdict::ClientBound, false, 0),
        (None, Verdict::ClientBound, true, 3),
        (None, Verdict::Invalid, false, 3),
        (None, Verdict::Degraded, false, 0),
        (None, Verdict::Degraded, true, 3),
        (Some(true), Verdict::Degraded, false, 0),
        (Some(false), Verdict::Degraded, false, 1),
        (Some(true), Verdict::Degraded, true, 3),
        (Some(true), Verdict::LoadMet, false, 0),
        (Some(true), Verdict::ClientBound, false, 3),
        (Some(false), Verdict::Undetermined, false, 1),
        (Some(false), Verdict::ServerBound, true, 1),
        (Some(false), Verdict::ClientBound, false, 3),
        (None, Verdict::NetworkBound, false, 0),
        (Some(true), Verdict::NetworkBound, false, 3),
        (Some(true), Verdict::PlanBound, false, 0),
        (Some(false), Verdict::Invalid, false, 3),
    ] {
        assert_eq!(
            exit_code(&judged(passed, verdict), strict),
            code,
            "{passed:?} {verdict:?} strict: {strict}"
        );
    }
}

/// A figure that depends on the outcome of the load proves nothing if the run is too short to
/// decide; errors were counted either way.
#[test]
fn run_that_is_too_short_to_tell_passes_no_threshold_on_times_or_rates() {
    for (threshold, strict, code) in [
        ("", false, 0),
        ("", true, 3),
        ("\"response_time.p99\" = \"<= 1s\"", false, 3),
        ("\"rate\" = \">= 1/s\"", false, 3),
        ("\"errors.share\" = \"<= 0.5\"", false, 0),
        ("\"operations.count\" = \">= 100000\"", false, 1),
    ] {
        let mut collector = collector(OPEN, &format!("{threshold}\n"));
        fire(&mut collector, QUIET, cpu(0.3, 0.3));
        let mut document = collector.document(RunState::Complete);
        document.verdict.verdict = Verdict::Undetermined;
        document.verdict.needed_ns = Some(12_000_000_000);
        assert_eq!(exit_code(&document, strict), code, "{threshold} {strict}");
        let mut of_the_plan = document.clone();
        of_the_plan.verdict.verdict = Verdict::PlanBound;
        of_the_plan.verdict.needed_ns = None;
        assert_eq!(
            exit_code(&of_the_plan, strict),
            code,
            "{threshold} {strict}"
        );
        let summary = RunSummary::new(&document, String::new(), 0, String::new());
        let mut campaign = CampaignDocument::new(String::new(), String::new(), String::new());
        campaign.runs.push(summary);
        assert_eq!(campaign.exit_code(strict), code, "{threshold} {strict}");
    }
}

/// A run against a target on the agents' machine.
fn local(load: &str, content: Second, machine: f64) -> analysis::VerdictRecord {
    fired_at("127.0.0.1:80", load, content, machine).verdict
}

fn fired_at(address: &str, load: &str, content: Second, machine: f64) -> analysis::Document {
    let mut collector = collector(load, "");
    for agent in 0..2 {
        let mut totals = measure::Snapshot::default();
        for second in 0..6 {
            let cells = crate::scene::snapshot(second, content).cells.into_iter();
            let cells = cells
                .map(|(key, cell)| (crate::scene::key(key.period, key.request, address), cell));
            let recorded = measure::Snapshot {
                cells: cells.collect(),
                ..measure::Snapshot::default()
            };
            totals.merge(&recorded);
            collector.add(agent, second, &recorded);
        }
        collector.ended(agent, crate::scene::end(totals, cpu(0.5, machine)));
    }
    collector.document(RunState::Complete)
}

#[test]
fn agent_of_a_builtin_target_shares_its_machine_with_it_even_if_it_sent_nothing() {
    let mut document = fired_at("192.0.2.3:80", CLOSED, QUIET, 1.0);
    assert_eq!(document.verdict.verdict, Verdict::ClientBound);
    document.plan.builtin_target = true;
    let record = VerdictRecord::new(&document);
    assert_ne!(record.verdict, Verdict::ClientBound, "{record:?}");
}

#[test]
fn target_at_an_own_address_of_an_agent_is_on_its_machine_and_on_no_other() {
    for (address, local) in [
        ("192.0.2.1:80", [true, false]),
        ("[::ffff:192.0.2.2]:80", [false, true]),
        ("192.0.2.3:80", [false, false]),
        ("127.9.9.9:80", [true, true]),
        ("[::1]:80", [true, true]),
    ] {
        let document = fired_at(address, CLOSED, QUIET, 0.3);
        assert_eq!(
            document
                .agents
                .iter()
                .map(|agent| agent.target_is_local)
                .collect::<Vec<_>>(),
            local,
            "{address}"
        );
        let is_said = document.verdict.evidence.join("; ").contains("own machine");
        assert_eq!(
            is_said,
            local.contains(&true),
            "{address}: {:?}",
            document.verdict
        );
    }
    // The agent that shares its machine with the server is excused; the other agent's machine is
    // full on its own account.
    let record = fired_at("192.0.2.1:80", CLOSED, QUIET, 1.0).verdict;
    let evidence = record.evidence.join("; ");
    assert!(
        record.verdict == Verdict::ClientBound
            && evidence.contains("agent two")
            && !evidence.contains("agent one"),
        "{evidence}"
    );
}

#[test]
fn target_on_the_agents_own_machine_is_said_and_excuses_a_full_machine() {
    let late = Second {
        response_ms: 60,
        delay_ms: 40,
        ..QUIET
    };
    let slow_server = Second {
        response_ms: 3040,
        service_ms: 3000,
        wait_ms: 40,
        ..QUIET
    };
    for (load, content, machine, verdict) in [
        (CLOSED, QUIET, 0.3, Verdict::Undetermined),
        (CLOSED, QUIET, 1.0, Verdict::Undetermined),
        (OPEN, slow_server, 1.0, Verdict::Undetermined),
        (OPEN, late, 1.0, Verdict::ClientBound),
    ] {
        let record = local(load, content, machine);
        assert_eq!(record.verdict, verdict, "{record:?}");
        assert!(
            record.evidence.join("; ").contains("own machine"),
            "{record:?}"
        );
    }
}

#[test]
fn throttled_client_is_seen_by_its_lag_even_beside_the_server() {
    let unused = (Some(4.0), Verdict::Undetermined);
    for (quota, verdict) in [
        (None, Verdict::Undetermined),
        unused,
        (Some(0.1), Verdict::ClientBound),
    ] {
        let spent = analysis::CpuFigures {
            process_share_mean: 0.095,
            ..cpu(0.09, 0.5)
        };
        let mut document = document(
            CLOSED,
            Second {
                lag_ms: 90,
                ..QUIET
            },
            spent,
        );
        document.plan.builtin_target = true;
        document.agents[1].facts.cpu_quota = quota;
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, verdict, "{record:?}");
        let evidence = record.evidence.join("; ");
        assert_eq!(
            evidence.contains("quota is 0.10 CPUs"),
            quota == Some(0.1),
            "{evidence}"
        );
    }
}

/// Two agents with ten operations per second each, and a hundred times as many in the second half
/// of the measured part, where only `ended` of each request end per second.
fn piling_up(ended: u64) -> Document {
    let mut collector = collector(OPEN, "");
    for agent in 0..2 {
        let mut totals = measure::Snapshot::default();
        for second in 0..6 {
            let mut recorded = crate::scene::snapshot(second, QUIET);
            for cell in recorded.cells.values_mut().filter(|_| second >= 4) {
                (cell.counters.within.ended, cell.counters.within.ended_late) = (ended, ended);
                cell.counters.started *= 100;
                cell.counters.within.due_late *= 100;
                cell.counters.ok = ended;
                for times in cell.response_times.values_mut() {
                    (0..495).for_each(|_| times.record(20_000_000));
                }
            }
            totals.merge(&recorded);
            collector.add(agent, second, &recorded);
        }
        collector.ended(agent, crate::scene::end(totals, cpu(0.3, 0.3)));
    }
    collector.document(RunState::Complete)
}

#[test]
fn load_that_only_the_drain_answers_is_not_met() {
    for (ended, verdict) in [(500, Verdict::LoadMet), (250, Verdict::Undetermined)] {
        let document = piling_up(ended);
        let evidence = document.verdict.evidence.join("; ");
        assert_eq!(document.verdict.verdict, verdict, "{evidence}");
        let wanted = if ended == 500 {
            "4000 due and 4000 ended in the second half"
        } else {
            "4040 operations were due and 2040 ended"
        };
        assert!(evidence.contains(wanted), "{evidence}");
    }
}

#[test]
fn run_that_was_stopped_does_not_say_that_all_of_its_load_was_met() {
    let mut collector = collector(OPEN, "");
    for agent in 0..2 {
        let mut totals = measure::Snapshot::default();
        for second in 0..5 {
            totals.merge(&crate::scene::snapshot(second, QUIET));
            collector.add(agent, second, &crate::scene::snapshot(second, QUIET));
        }
        let end = crate::scene::end(totals, cpu(0.3, 0.3));
        collector.ended(
            agent,
            analysis::AgentEnd {
                cause: Some(AgentEndCause::Stopped),
                intervals: Some(5),
                ..end
            },
        );
    }
    let document = collector.document(RunState::Interrupted);
    assert_eq!(
        document.verdict.verdict,
        Verdict::Undetermined,
        "{:?}",
        document.verdict
    );
    assert!(
        document
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("was stopped")),
        "{:?}",
        document.verdict
    );
}

#[test]
fn arrivals_that_were_never_sent_cost_the_server_nothing() {
    let of_each = |not_sent| {
        let mut collector = collector(CLOSED, "");
        let content = Second { not_sent, ..QUIET };
        fire(&mut collector, content, cpu(0.3, 0.3));
        collector.server_cpu(std::time::Duration::from_millis(240));
        let document = collector.document(RunState::Complete);
        document.server.unwrap().cpu_per_operation_ns
    };
    assert_eq!((of_each(0), of_each(90)), (Some(2e6), Some(2e6)));
}

#[test]
fn what_the_server_used_is_told_for_each_operation() {
    let mut collector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.3));
    collector.server_cpu(std::time::Duration::from_millis(240));
    let document = collector.document(RunState::Complete);
    // Two agents end ten operations each in each of six seconds: 2 ms for each of 120, and 20 of
    // them end per second.
    let server = document.server.unwrap();
    assert_eq!(
        (server.cpu_ns, server.cpu_per_operation_ns),
        (240_000_000, Some(2e6))
    );
    assert_eq!(
        server.cpus,
        Some(2e6 * document.measured.rates.operations_per_second / 1e9)
    );
    let record = &document.verdict;
    assert!(
        record
            .evidence
            .iter()
            .any(|line| line.ends_with("CPUs busy: 2.00 ms for each operation")),
        "{record:?}"
    );
    assert_eq!(record.missing.len(), 1, "{record:?}");
}

#[test]
fn run_under_way_blames_no_agent() {
    let mut collector = collector(CLOSED, "");
    collector.add(0, 2, &crate::scene::snapshot(2, QUIET));
    let record = collector.document(RunState::Incomplete).verdict;
    assert_eq!(record.evidence.len(), 1, "{record:?}");
    assert!(record.evidence[0].contains("never finished"), "{record:?}");
}

#[test]
fn run_without_a_success_names_the_commonest_failure_and_its_cure() {
    use measure::{CertificateFault, Failure, FailureStage, Kind};
    for (load, kind, cure) in [
        (
            CLOSED,
            Kind::Certificate(CertificateFault::UnknownIssuer),
            Some("tls.ca"),
        ),
        (
            OPEN,
            Kind::Certificate(CertificateFault::WrongName),
            Some("tls.server_name"),
        ),
        (
            CLOSED,
            Kind::AlertReceived(116),
            Some("tls.client_certificates"),
        ),
        (CLOSED, Kind::AlertReceived(120), Some("connection.http")),
        (CLOSED, Kind::BadFraming, Some("needs https://")),
        (CLOSED, Kind::ShortBody, None),
    ] {
        let mut collector = collector(load, "");
        let mut content = crate::scene::snapshot(
            2,
            Second {
                not_sent: 5,
                ..QUIET
            },
        );
        for cell in content.cells.values_mut() {
            (cell.counters.ok, cell.counters.failed) = (0, 10);
            cell.counters.failures = [
                (
                    Failure {
                        stage: FailureStage::Tls,
                        kind,
                    },
                    9,
                ),
                (
                    Failure {
                        stage: FailureStage::Tls,
                        kind: Kind::Eof,
                    },
                    1,
                ),
            ]
            .into();
        }
        for agent in 0..2 {
            collector.add(agent, 2, &content);
            collector.ended(agent, crate::scene::end(content.clone(), cpu(0.99, 0.99)));
        }
        let document = collector.document(RunState::Complete);
        assert_eq!(
            (document.verdict.verdict, document.verdict_meaning()),
            (Verdict::Undetermined, "every operation failed")
        );
        assert_eq!(exit_code(&document, false), 1);
        let evidence = document.verdict.evidence.join("; ");
        assert!(
            evidence.starts_with(
                "none of 40 operations succeeded: 40 failed, 0 timed out; 90.0 % of them: "
            ),
            "{evidence}"
        );
        assert!(
            evidence.contains(cure.unwrap_or("[tls.short_body]")),
            "{evidence}"
        );
    }
}

#[test]
fn what_agents_found_before_the_start_is_told_and_a_forced_run_is_marked() {
    let mut collector = collector(OPEN, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.3));
    let unmarked = collector.document(RunState::Complete);
    for (text, forced) in [("too few ports", true), ("little room", false)] {
        collector.preflight(PreflightFinding {
            agent: "a".to_owned(),
            text: text.to_owned(),
            forced,
        });
    }
    let document = collector.document(RunState::Complete);
    assert_eq!(document.verdict.verdict, unmarked.verdict.verdict);
    let marks = &document.verdict.evidence[unmarked.verdict.evidence.len()..];
    assert_eq!(marks, ["forced past preflight: agent a: too few ports"]);
    let notes: Vec<_> = document
        .notes
        .iter()
        .filter(|note| !unmarked.notes.contains(note))
        .collect();
    assert_eq!(notes, ["agent a: little room"]);
    assert_eq!(document.preflight.len(), 2);
}
