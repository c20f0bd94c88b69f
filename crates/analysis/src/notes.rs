//! Remarks that a reader of the figures should see and that the verdict does not make.

use crate::counts::sum;
use crate::{Document, RunState, human};
use plan::{KeyShare, Words as _};
use std::collections::BTreeMap;

pub(crate) fn sentences(document: &Document) -> Vec<String> {
    let rules = [
        note_interruption,
        note_unattended,
        note_takeovers,
        cheap_client,
        note_shared_machines,
        overflow,
        back_offs,
        note_closed_under_reuse,
        note_left_open,
        note_resent,
        note_redirects,
        note_withheld,
        note_expired_tokens,
        note_stream_limit,
        draining,
        note_unconfirmed,
        note_retries,
        note_expired_staple,
        foreign_sessions,
        early_data,
    ];
    rules.iter().filter_map(|rule| rule(document)).collect()
}

/// Names the agents that were suspended until their lease had expired, with the arrivals they never
/// sent.
pub(crate) fn note_suspensions(agents: &[(String, u64)]) -> Option<String> {
    let not_sent = agents
        .iter()
        .fold(0, |sum: u64, (_, number)| sum.saturating_add(*number));
    let (first, _) = agents.first()?;
    let who = match agents.len() - 1 {
        0 => format!("agent {first}"),
        more => format!("agent {first} and {more} more"),
    };
    Some(format!(
        "{who} stood still until the lease had run out (stopped, or the machine was asleep): \
         {} due meanwhile {} not sent, and no connection was to blame",
        human::counted(not_sent, "arrival"),
        human::one_or_many(not_sent, "was", "were")
    ))
}

fn note_unattended(document: &Document) -> Option<String> {
    let longest = document
        .unattended
        .iter()
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let seconds: f64 = document.unattended.iter().map(|time| time.seconds).sum();
    let times = match document.unattended.len() {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    let at = |ns: u64| ns as f64 / 1e9;
    Some(format!(
        "no coordinator was there for {seconds:.1} s{times}, the longest time from second \
         {:.1} to {:.1}: agents fired on while their leases held, and nobody could stop them",
        at(longest.from_ns),
        at(longest.to_ns)
    ))
}

fn note_takeovers(document: &Document) -> Option<String> {
    let takeovers = document.fleet.takeovers.iter();
    let takeovers: Vec<_> = takeovers
        .filter(|takeover| !takeover.to.is_empty())
        .collect();
    let first = takeovers.iter().map(|takeover| takeover.after_ns).min()?;
    let shares = match takeovers.len() {
        1 => "the share of 1 lost agent".to_owned(),
        number => format!("the shares of {number} lost agents"),
    };
    Some(format!(
        "others fired {shares}, from second {:.1} on",
        first as f64 / 1e9
    ))
}

fn note_interruption(document: &Document) -> Option<String> {
    (document.run.state == RunState::Interrupted).then(|| {
        if document.measured.operations.started == 0 {
            return "the run was interrupted before anything was measured".to_owned();
        }
        format!(
            "the run was interrupted; the figures are of its first {}",
            human::time(document.run.duration_ns as f64)
        )
    })
}

fn cheap_client(document: &Document) -> Option<String> {
    let modes = document.plan.cheap_modes();
    (!modes.is_empty()).then(|| {
        format!(
            "cheap client ({}): a careful client would see longer handshakes",
            modes.join(", ")
        )
    })
}

fn note_shared_machines(document: &Document) -> Option<String> {
    let mut agents: BTreeMap<&str, usize> = BTreeMap::new();
    document
        .agents
        .iter()
        .for_each(|agent| *agents.entry(&agent.facts.hostname).or_default() += 1);
    let (host, number) = agents
        .into_iter()
        .filter(|(host, _)| !host.is_empty())
        .max_by_key(|&(_, number)| number)?;
    (number > 1).then(|| format!("{number} agents shared the machine {host}"))
}

fn overflow(document: &Document) -> Option<String> {
    let beyond: u64 = document
        .measured
        .times
        .values()
        .map(|figure| figure.overflow)
        .max()?;
    (beyond > 0).then(|| {
        format!(
            "{} {} above one hour, where histograms end",
            human::counted(beyond, "value"),
            human::one_or_many(beyond, "was", "were")
        )
    })
}

fn back_offs(document: &Document) -> Option<String> {
    let connections = &document.measured.connections;
    let mean_ns = connections.back_off_ns as f64 / connections.back_offs.max(1) as f64;
    let number = connections.back_offs;
    (number > 0).then(|| {
        format!(
            "users waited {} after a connection failed, {} on average",
            human::counted(number, "time"),
            human::time(mean_ns)
        )
    })
}

fn note_closed_under_reuse(document: &Document) -> Option<String> {
    let number = document.measured.connections.reused_closed;
    (number > 0).then(|| {
        format!(
            "{} {} sent again because the server had closed an idle connection",
            human::counted(number, "request"),
            human::one_or_many(number, "was", "were")
        )
    })
}

fn note_left_open(document: &Document) -> Option<String> {
    let connections = &document.measured.connections;
    let waits = human::time(connections.end_wait_ns as f64);
    (connections.left_open > 0).then(|| {
        format!(
            "the server left {} open that close = \"server\" wants it to close: users waited \
             {waits} in all, in no response time; use close = \"fin\"",
            human::counted(connections.left_open, "connection")
        )
    })
}

fn draining(document: &Document) -> Option<String> {
    let number = document.measured.http2.draining_connections;
    (number > 0).then(|| {
        format!(
            "{} took no more requests while some were under way; these ended there, others went to \
             the next connection",
            human::counted(number, "connection")
        )
    })
}

fn note_stream_limit(document: &Document) -> Option<String> {
    let http2 = &document.measured.http2;
    (http2.limited_connections > 0).then(|| {
        format!(
            "{} carried fewer streams at once than connection.streams: the server allows {} \
             (SETTINGS_MAX_CONCURRENT_STREAMS); use more connections instead",
            human::counted(http2.limited_connections, "connection"),
            http2.fewest_streams
        )
    })
}

fn note_resent(document: &Document) -> Option<String> {
    let http2 = &document.measured.http2;
    (http2.sent_again > 0).then(|| {
        format!(
            "{} {} sent again because the server had not processed {} ({} GOAWAY, {} \
             REFUSED_STREAM)",
            human::counted(http2.sent_again, "request"),
            human::one_or_many(http2.sent_again, "was", "were"),
            human::one_or_many(http2.sent_again, "it", "them"),
            http2.go_aways,
            http2.refused_streams
        )
    })
}

fn note_redirects(document: &Document) -> Option<String> {
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
    for (&status, &number) in document.redirects.iter().flat_map(|each| &each.statuses) {
        let all = statuses.entry(status).or_default();
        *all = all.saturating_add(number);
    }
    let followed = sum(statuses.values());
    let by_status: Vec<String> = statuses
        .iter()
        .map(|(status, number)| format!("{number} × {status}"))
        .collect();
    (followed > 0).then(|| {
        format!(
            "{} {} followed within operations ({}), whose times include them",
            human::counted(followed, "redirect"),
            human::one_or_many(followed, "was", "were"),
            by_status.join(", ")
        )
    })
}

fn note_withheld(document: &Document) -> Option<String> {
    let bodies = document.withheld_bodies.iter();
    let number = sum(bodies.map(|each| &each.bodies));
    (number > 0).then(|| {
        format!(
            "{number} {} not sent, since the server answered before it gave leave (100 Continue)",
            human::one_or_many(number, "body was", "bodies were"),
        )
    })
}

fn note_expired_tokens(document: &Document) -> Option<String> {
    let expired = document
        .tokens
        .iter()
        .filter(|token| token.expired_requests > 0);
    let of: Vec<String> = expired
        .map(|token| {
            let from = token.first_ran_out_ns.unwrap_or(0) as f64 / 1e9;
            let (name, number) = (&token.auth, token.expired_requests);
            format!("{number} with that of auth.{name}, from second {from:.1} on")
        })
        .collect();
    (!of.is_empty()).then(|| {
        format!(
            "a token had expired, and requests had it until there was a new one: {}",
            of.join("; ")
        )
    })
}

fn note_unconfirmed(document: &Document) -> Option<String> {
    let number = document.measured.operations.unconfirmed;
    (number > 0).then(|| {
        format!(
            "{} {} as ok without the server's confirmation",
            human::counted(number, "handshake"),
            human::one_or_many(number, "counts", "count")
        )
    })
}

fn note_expired_staple(document: &Document) -> Option<String> {
    let (figures, _) = document.handshakes()?;
    let expired = figures.ocsp_staples.iter().find(|staple| staple.expired)?;
    let next_update = expired.next_update.as_deref().unwrap_or_default();
    Some(format!(
        "the server stapled an OCSP response that was to be renewed by {next_update}, before the \
         run began"
    ))
}

fn note_retries(document: &Document) -> Option<String> {
    let number = document.measured.resumption.retried;
    let is_remembered = document
        .plan
        .tls
        .as_ref()
        .is_some_and(|tls| tls.key_share == KeyShare::Remembered.word());
    let why = if is_remembered {
        "each address was sent a key share for the group that it took last (tls.key_share = \
         \"remembered\"); to save these too, put the group the server prefers first in tls.groups"
    } else {
        "each hello had a key share for the first of tls.groups; to save the round trip, put the \
         group the server prefers first, or write tls.key_share = \"remembered\""
    };
    let handshakes = human::counted(number, "handshake");
    (number > 0).then(|| format!("{handshakes} took a HelloRetryRequest: {why}"))
}

/// Reports servers behind one name that do not accept each other's sessions.
fn foreign_sessions(document: &Document) -> Option<String> {
    let (own, foreign): (Vec<_>, Vec<_>) = document
        .session_offers
        .iter()
        .partition(|offers| offers.is_own());
    let offered = sum(foreign.iter().map(|offers| &offers.offered));
    let refused = offered.saturating_sub(sum(foreign.iter().map(|offers| &offers.accepted)));
    let own_accepted = sum(own.iter().map(|offers| &offers.accepted));
    // A server that takes no session at all, not even its own, has another reason to refuse.
    (refused > 0 && own_accepted > 0).then(|| {
        format!(
            "{refused} of {offered} sessions that were offered to another address than had issued \
             them were refused: servers behind one name can share their ticket keys"
        )
    })
}

fn early_data(document: &Document) -> Option<String> {
    let (figures, _) = document.handshakes()?;
    let offered = figures.early_data.offered;
    (offered > 0).then(|| {
        format!(
            "{} {} sent as early data, which anybody on the way can send again (RFC 8446 §8): a \
             server must bear that, or answer 425",
            human::counted(offered, "request"),
            human::one_or_many(offered, "was", "were")
        )
    })
}
