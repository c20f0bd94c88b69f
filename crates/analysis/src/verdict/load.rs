//! Whether the load was sent in time, and carried while it was offered.

use super::client::{
    self, LATE_P99_MAX_NS, MachineCounts, client_limits, lagged, limits, p99_if_late, room,
};
use super::{LimitOf, RuleReading, Verdict, VerdictRecord, record};
use crate::{AgentEndCause, AgentResult, Backlog, Document, human};

/// An open loop has missed its load where more arrivals than this could not be sent.
const NOT_SENT_SHARE_MAX: f64 = 0.001;

/// More errors than this, and the load was sent but not carried.
const ERROR_SHARE_MAX: f64 = 0.01;

pub(super) fn open_loop(document: &Document, max_connections: u32) -> VerdictRecord {
    let late = client::was_late(document);
    if !late.is_empty() {
        return late_client(document, late);
    }
    let unmet = unmet(document, max_connections);
    if unmet.is_empty() {
        return sent_in_time(document);
    }
    let limits = client_limits(document);
    if !limits.is_empty() {
        return record(Verdict::ClientBound, unmet.into_iter().chain(limits), []);
    }
    // Of answers that take as long as the run nothing shows whether more would have come of a
    // longer one.
    let cause = (!takes_half_of_the_run(document))
        .then(|| "the client had time: the server was too slow for this load".to_owned());
    record(
        Verdict::Undetermined,
        unmet.into_iter().chain(cause).chain(room(document)),
        missing_for_server(document),
    )
}

pub(super) fn closed_loop(document: &Document) -> VerdictRecord {
    let late = lagged(document);
    let limits = client_limits(document);
    if late.is_some() || !limits.is_empty() {
        return record(Verdict::ClientBound, late.into_iter().chain(limits), []);
    }
    record(
        Verdict::Undetermined,
        room(document),
        missing_for_server(document),
    )
}

/// A client that was late at its limit is what the numbers are about; one that was late with room
/// to spare makes them worthless.
fn late_client(document: &Document, late: Vec<String>) -> VerdictRecord {
    let limits = limits(document, MachineCounts::Always);
    if limits.is_empty() {
        let evidence = late.into_iter().chain(room(document));
        return record(Verdict::Invalid, evidence, []);
    }
    record(Verdict::ClientBound, late.into_iter().chain(limits), [])
}

/// What of the load was not sent, not in time, or not carried while it was offered, though the
/// client was in time.
fn unmet(document: &Document, max_connections: u32) -> Vec<String> {
    waited(document, max_connections)
        .into_iter()
        .chain(not_sent(document))
        .chain(piled_up(document))
        .collect()
}

/// Whether the load was sent and carried.
pub(super) fn readings(document: &Document) -> Vec<RuleReading> {
    vec![never_sent(document), backlog(document)]
}

fn never_sent(document: &Document) -> RuleReading {
    let operations = &document.measured.operations;
    let share = operations.not_sent as f64 / operations.ended.max(1) as f64;
    RuleReading {
        rule: "never sent",
        limit_of: LimitOf::Load,
        says: not_sent(document),
        figure: format!("{} of the arrivals", human::share(share)),
        bound: human::share(NOT_SENT_SHARE_MAX),
        distance: Some(share / NOT_SENT_SHARE_MAX),
    }
}

fn backlog(document: &Document) -> RuleReading {
    let Some(backlog) = document.backlog else {
        return RuleReading::unknown("backlog", LimitOf::Load, "more than its noise".to_owned());
    };
    RuleReading {
        rule: "backlog",
        limit_of: LimitOf::Load,
        says: piled_up(document),
        figure: format!("grew by {} in the second half", backlog.growth()),
        bound: format!("more than its noise of {:.0}", backlog.noise),
        distance: (backlog.noise > 0.0).then(|| backlog.growth() as f64 / backlog.noise),
    }
}

/// Arrivals that had to wait for a connection: all that there may be were in use then.
fn waited(document: &Document, max_connections: u32) -> Option<String> {
    let p99 = p99_if_late(document.measured.times.get("lateness"))?;
    let waits = document.measured.times.get("connection_wait")?;
    let waited = waits.count as f64 / document.measured.operations.ended.max(1) as f64;
    Some(format!(
        "{} of the arrivals waited for one of {max_connections} connections, all in use, so that \
         1 % began {} or more late (bound: {})",
        human::share(waited),
        human::time(p99),
        human::time(LATE_P99_MAX_NS as f64)
    ))
}

/// A backlog that grew: load that was carried after its end, if at all.
pub(crate) fn piled_up(document: &Document) -> Option<String> {
    let backlog = document.backlog.filter(|backlog| !backlog.kept_up())?;
    let Backlog {
        due,
        ended,
        at_end,
        noise,
    } = backlog;
    let growth = backlog.growth();
    let mut text = format!(
        "the load was not carried while it was offered: in its second half {due} operations were \
         due and {ended} ended, so that the backlog grew by {growth} (noise: {noise:.0}) to \
         {at_end}"
    );
    if takes_half_of_the_run(document) {
        text += "; answers took longer than half of the measured part, so a longer one may say \
                 otherwise";
    }
    Some(text)
}

/// Whether the server's answers take so long that a backlog cannot be told from them.
fn takes_half_of_the_run(document: &Document) -> bool {
    let service = document.measured.percentile("service_time", 50.0);
    service.is_some_and(|p50| p50.value_ns > document.run.duration_ns / 2)
}

/// Arrivals that no connection was free for: load that was asked for and never offered.
pub(crate) fn not_sent(document: &Document) -> Option<String> {
    let operations = &document.measured.operations;
    let share = operations.not_sent as f64 / operations.ended.max(1) as f64;
    (share > NOT_SENT_SHARE_MAX).then(|| {
        format!(
            "{} of the arrivals ({}) were not sent",
            human::share(share),
            operations.not_sent
        )
    })
}

fn sent_in_time(document: &Document) -> VerdictRecord {
    let sent = sent_in_words(document);
    let operations = &document.measured.operations;
    let failed = operations.error_share.unwrap_or(0.0);
    if failed > ERROR_SHARE_MAX {
        let answered = format!("{} of them ended in an error", human::share(failed));
        let evidence = [sent, answered].into_iter().chain(room(document));
        return record(
            Verdict::Undetermined,
            evidence,
            missing_for_server(document),
        );
    }
    let answered = format!(
        "{} of {} were answered as the plan expects",
        operations.ok, operations.ended
    );
    let Some(backlog) = document.backlog else {
        let evidence = [sent, answered, cut_short(document)];
        let evidence = evidence.into_iter().chain(room(document));
        let missing = ["a run to the end of its plan".to_owned()];
        return record(Verdict::Undetermined, evidence, missing);
    };
    let kept_up = kept_up_in_words(backlog);
    let evidence = [sent, answered, kept_up].into_iter().chain(room(document));
    record(Verdict::LoadMet, evidence, [])
}

/// Why nothing is known of the backlog.
fn cut_short(document: &Document) -> String {
    let is_stopped = |agent: &AgentResult| agent.ended == Some(AgentEndCause::Stopped);
    let why = if document.agents.iter().any(is_stopped) {
        "the run was stopped"
    } else {
        "not every agent went through the plan"
    };
    format!("{why}: nothing shows whether the rest of the load would have been carried")
}

fn sent_in_words(document: &Document) -> String {
    let started = human::number(document.measured.rates.started_per_second);
    let late = match document.measured.percentile("lateness", 99.0) {
        None => String::new(),
        Some(p99) => format!(
            ", 99 % of them within {} of their instant",
            human::time(p99.value_ns as f64)
        ),
    };
    format!("{started} operations per second were sent{late}")
}

fn kept_up_in_words(backlog: Backlog) -> String {
    let Backlog {
        due,
        ended,
        at_end,
        noise,
    } = backlog;
    format!(
        "what ended kept up with what was due: {ended} of {due} in the second half, {at_end} \
         under way at its end (noise: {noise:.0})"
    )
}

fn missing_for_server(document: &Document) -> Vec<String> {
    let cpu = document
        .server
        .is_none()
        .then(|| "the server's own CPU figures".to_owned());
    cpu.into_iter()
        .chain([
            "a second, higher load: where it brings no more, the server is the limit".to_owned(),
        ])
        .collect()
}
