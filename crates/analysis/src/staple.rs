//! Stapled OCSP responses and their age.

use crate::counts::share;
use measure::calendar;
use measure::{Counters, Staple};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Full handshakes in which the server stapled the same OCSP response, by the times it states (RFC
/// 6960 §4.2.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StapleFigure {
    /// When its content was known to be correct, UTC, RFC 3339; absent if the response could not be
    /// read.
    pub this_update: Option<String>,
    /// When a newer response will be available; absent if it does not state that.
    pub next_update: Option<String>,
    /// When it was signed.
    pub produced_at: Option<String>,
    /// Its age since `this_update` when the run began; negative if it was issued later.
    pub age_at_start_s: Option<i64>,
    /// Whether `next_update` had passed when the run began.
    pub expired: bool,
    /// Number of handshakes with it.
    pub count: u64,
    /// Share of all handshakes with a chain.
    pub share: f64,
}

impl StapleFigure {
    /// Lists the responses, most frequent first, without their age yet.
    pub(crate) fn from_counters(counters: &Counters) -> Vec<StapleFigure> {
        let with_chain = crate::counts::sum(counters.chains.values());
        let mut counts: BTreeMap<Staple, u64> = BTreeMap::new();
        for (agreed, &count) in &counters.negotiated {
            let Some(staple) = agreed.ocsp_staple else {
                continue;
            };
            let sum = counts.entry(staple).or_default();
            *sum = sum.saturating_add(count);
        }
        let mut figures: Vec<_> = counts
            .iter()
            .map(|(staple, &count)| StapleFigure::one(*staple, count, with_chain))
            .collect();
        figures.sort_by_key(|figure| std::cmp::Reverse(figure.count));
        figures
    }

    fn one(staple: Staple, count: u64, with_chain: u64) -> StapleFigure {
        let stated = |seconds: i64| (seconds != 0).then(|| calendar::text(seconds));
        StapleFigure {
            this_update: stated(staple.this_update),
            next_update: stated(staple.next_update),
            produced_at: stated(staple.produced_at),
            age_at_start_s: None,
            expired: false,
            count,
            share: share(count, with_chain).unwrap_or(0.0),
        }
    }

    /// Sets the fields that depend on the run's start, given in seconds since 1970.
    pub(crate) fn date(&mut self, started_at: i64) {
        let seconds = |instant: &Option<String>| calendar::seconds(instant.as_deref()?);
        self.age_at_start_s =
            seconds(&self.this_update).map(|this_update| started_at.saturating_sub(this_update));
        self.expired =
            seconds(&self.next_update).is_some_and(|next_update| next_update < started_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Chain, HandshakeKind, Negotiated};

    const NOON: i64 = 1_795_176_000;

    fn counters(staples: &[(Option<Staple>, u64)]) -> Counters {
        let mut counters = Counters::default();
        for (suite, &(ocsp_staple, count)) in (0..).zip(staples) {
            let alpn = String::new();
            let kind = HandshakeKind::Full;
            let agreed = Negotiated {
                version: 0x0304,
                suite,
                group: 0,
                signature_scheme: 0,
                alpn,
                kind,
                ocsp_staple,
            };
            counters.negotiated.insert(agreed, count);
        }
        let chain = Chain {
            sha256: [0; 32],
            key: String::new(),
            certificates: 1,
            bytes: 1,
        };
        counters
            .chains
            .insert(chain, staples.iter().map(|(_, count)| count).sum());
        counters
    }

    #[test]
    fn staples_are_told_apart_by_their_times_and_aged_from_the_start() {
        let fresh = Staple {
            this_update: NOON - 3600,
            next_update: NOON + 3600,
            produced_at: NOON - 3600,
        };
        let stale = Staple {
            this_update: NOON - 90_000,
            next_update: NOON - 60,
            produced_at: NOON - 89_999,
        };
        let counters = counters(&[
            (Some(stale), 1),
            (Some(fresh), 2),
            (None, 3),
            (Some(fresh), 3),
            (Some(Staple::default()), 1),
        ]);
        let mut figures = StapleFigure::from_counters(&counters);
        figures.iter_mut().for_each(|figure| figure.date(NOON));
        let seen: Vec<_> = figures
            .iter()
            .map(|figure| (figure.count, figure.age_at_start_s, figure.expired))
            .collect();
        assert_eq!(
            seen,
            [
                (5, Some(3600), false),
                (1, None, false),
                (1, Some(90_000), true)
            ]
        );
        assert_eq!(
            figures[0].this_update.as_deref(),
            Some("2026-11-20T11:00:00Z")
        );
        assert_eq!(
            (figures[0].share, figures[1].this_update.as_deref()),
            (0.5, None)
        );
    }
}
