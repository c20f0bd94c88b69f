//! Signs that the network is the limit: links at their speed, retransmitted segments, and bytes
//! that arrive at the same pace however much is requested.

use super::counted_seconds::measured;
use super::path::{self, Way};
use super::phases::{is_queueing, transfer_share};
use super::sign::{Sign, Watched};
use super::{BoundNumber, RuleBound, RuleId, RuleReading, rising_losses, server};
use crate::{Document, InterfaceRow, MachineRow, Row, human};

const LINK_USED: f64 = 0.9;
/// A link that carried more than this share of its speed reports a wrong speed.
const LINK_BELIEVED: f64 = 1.1;
const LOST: f64 = 0.01;
/// Fewer segments than this in a second are too few for a share.
const SEGMENTS_MIN: u64 = 100;
const TRANSFER_MIN: f64 = 0.5;
/// If something limits the bytes per second, the usual second has at least this share of the
/// fullest one.
const FLAT_MIN: f64 = 0.85;

const PACE: RuleBound = RuleBound::new(
    "{} of the service time, at one pace, in a queue or with losses, and a monitor that saw room",
    &[BoundNumber::Share(TRANSFER_MIN)],
);

const LINK: Sign = Sign {
    rule: RuleId::Link,
    reach: |row| Some(fullest_link(row)?.1 / LINK_USED),
    words: |row| match fullest_link(row) {
        None => "no link".to_owned(),
        Some((link, used)) => format!(
            "{} carried {} of its {} Mbit/s",
            link.name,
            human::share(used),
            link.speed_mbit.unwrap_or(0)
        ),
    },
    bound: RuleBound::new("{} of its speed", &[BoundNumber::Share(LINK_USED)]),
    cure: "",
};

/// Counts only if most of the time goes into moving bytes: a full accept queue causes
/// retransmissions, too.
const LOSS: Sign = Sign {
    rule: RuleId::Retransmits,
    reach: |row| Some(loss_share(row)? / LOST),
    words: |row| {
        format!(
            "{} of {} segments {} sent again ({})",
            row.tcp.retransmits,
            row.tcp.segments_sent,
            human::one_or_many(row.tcp.retransmits, "was", "were"),
            human::share(loss_share(row).unwrap_or(0.0))
        )
    },
    bound: RuleBound::new("{}", &[BoundNumber::Share(LOST)]),
    cure: "",
};

/// Returns the link that is closest to its speed, in either direction, and how close it is.
fn fullest_link(row: &MachineRow) -> Option<(&InterfaceRow, f64)> {
    let used = |link: &InterfaceRow| {
        let speed = link.speed_mbit.filter(|&speed| speed > 0)? as f64 * 1e6;
        let bits = link.received_bytes.max(link.sent_bytes) as f64 * 8.0;
        let used = bits * 1e9 / row.elapsed_ns.max(1) as f64 / speed;
        (used <= LINK_BELIEVED).then_some(used)
    };
    let links = row.interfaces.iter();
    links
        .filter_map(|link| Some((link, used(link)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn loss_share(row: &MachineRow) -> Option<f64> {
    let sent = row.tcp.segments_sent;
    (sent >= SEGMENTS_MIN).then(|| row.tcp.retransmits as f64 / sent as f64)
}

/// Reads what was seen of the network at both ends.
pub(super) fn readings(
    document: &Document,
    agents: &[Watched<'_>],
    monitors: &[Watched<'_>],
    server_has_room: bool,
) -> Vec<RuleReading> {
    // Skip an end that was not watched.
    let ends = [agents, monitors];
    let ends: Vec<_> = ends.into_iter().filter(|end| !end.is_empty()).collect();
    let link = ends.iter().flat_map(|end| LINK.readings(end, server::PART));
    let loss = ends.iter().flat_map(|end| LOSS.readings(end, server::PART));
    let mut loss: Vec<RuleReading> = loss.collect();
    let is_lossy = loss.iter().any(|reading| reading.says.is_some());
    if transfer_share(document).unwrap_or(0.0) < TRANSFER_MIN {
        loss.iter_mut().for_each(|reading| reading.says = None);
    }
    let pace = pace(document, is_lossy, server_has_room);
    let rising = rising_losses::reading(document, server_has_room);
    let queue = path::queue(document);
    link.chain(loss).chain([queue, pace, rising]).collect()
}

/// Reads whether bytes arrive at one pace, on a link of unknown speed. The server can cause that as
/// well, so the rule fires only if a monitor saw that it had room.
fn pace(document: &Document, is_lossy: bool, server_has_room: bool) -> RuleReading {
    let Some((transfer, flat)) = transfer_share(document).zip(flat(document)) else {
        return RuleReading::unknown(RuleId::PaceOfBytes, PACE);
    };
    let way = Way::new(document);
    let waiting = way.as_ref().map_or(0.0, Way::waiting_share);
    let is_lossy = is_lossy || way.as_ref().is_some_and(Way::is_disordered);
    let is_queued = is_queued(document, way.as_ref());
    let why = match (is_queued, is_lossy) {
        (_, true) => ", and segments were lost",
        (true, false) => ", and they waited for one another on the way",
        (false, false) => "",
    };
    let bytes = measured(document).map(bytes).fold(0.0, f64::max);
    let figure = format!(
        "moving bytes took {} of the service time, at {}/s in the fullest second and {} of that \
         in the usual one{why}",
        human::share(transfer),
        human::bytes(bytes),
        human::share(flat)
    );
    let shown = ((transfer + waiting) / TRANSFER_MIN).min(flat / FLAT_MIN);
    // A server that sends slowly makes no queue, and its answers may be too small for one.
    let is_another =
        way.is_some_and(|way| way.has_room() || (way.is_of_small() && way.reach() < 1.0));
    let speaks = shown >= 1.0 && (is_queued || is_lossy) && server_has_room && !is_another;
    RuleReading {
        rule: RuleId::PaceOfBytes,
        says: speaks.then(|| format!("{figure} (bound: {PACE})")),
        acquits: None,
        figure,
        bound: PACE,
        distance: Some(shown),
    }
}

/// Returns whether segments waited for one another. If no round trips are known, a full queue shows
/// in the times of answers, since it delays first bytes as well.
fn is_queued(document: &Document, way: Option<&Way<'_>>) -> bool {
    let phases = ["first_byte", "receive", "send"];
    let stood = || phases.iter().any(|phase| is_queueing(document, phase));
    way.map_or_else(stood, Way::has_queue)
}

/// Returns the bytes per second in one direction, whichever had more.
fn bytes(row: &Row) -> f64 {
    let bytes = row.wire_received_bytes.max(row.wire_sent_bytes);
    bytes as f64 / f64::from(row.seconds.max(1))
}

/// Returns the bytes of the usual second over those of the fullest one.
fn flat(document: &Document) -> Option<f64> {
    let mut seconds: Vec<f64> = measured(document).map(bytes).collect();
    seconds.sort_by(f64::total_cmp);
    let usual = *seconds.get(seconds.len() / 2)?;
    let most = *seconds.last().filter(|&&most| most > 0.0)?;
    Some(usual / most)
}

/// Returns whether the network may be behind what is seen, even if nothing proves it.
pub(super) fn is_suspect(document: &Document, readings: &[RuleReading]) -> bool {
    let is_at_bound =
        |reading: &RuleReading| reading.distance.is_some_and(|distance| distance >= 1.0);
    // If round trips show that the path had room, segments are lost at the server, and bodies wait
    // for it.
    if Way::new(document).is_some_and(|way| way.has_room()) {
        let mut links = readings
            .iter()
            .filter(|reading| reading.rule == RuleId::Link);
        return links.any(is_at_bound);
    }
    let is_moving = transfer_share(document).unwrap_or(0.0) >= TRANSFER_MIN;
    let is_near =
        |reading: &RuleReading| reading.rule != RuleId::PaceOfBytes && is_at_bound(reading);
    is_moving || readings.iter().any(is_near)
}
