//! What became of WebSockets.

use crate::figures::is_zero;
use measure::{WebSocketFact, WebSocketTally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The WebSockets of one request in the measured part. The time from a message to its answer is
/// `message_time`. A message belongs to the measured part if it was due in it, also over a socket
/// that was opened in the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSocketFigures {
    /// Name of the request.
    pub request: String,
    /// Sockets that the server accepted.
    pub opened: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that had their answer.
    pub answered: u64,
    /// Those of them whose answer came after the measured part, which are in no rate; absent
    /// without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answered_late: u64,
    /// Messages that came, answers or not.
    pub received: u64,
    /// Sockets that were closed because the run ended, which is no failure.
    pub cut_by_end: u64,
    /// Pings that were sent; absent without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pings: u64,
    /// Pings that had their pong; absent without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pongs: u64,
    /// Sockets that the server closed, in answer to our close or by itself, by code; 1005 if it
    /// gave none.
    pub closed: BTreeMap<u16, u64>,
}

impl WebSocketFigures {
    /// How many answers came within the measured part, over the sockets of all requests.
    pub(crate) fn answered_within(all: &[WebSocketFigures]) -> u64 {
        let within = |it: &WebSocketFigures| it.answered.saturating_sub(it.answered_late);
        all.iter().map(within).fold(0, u64::saturating_add)
    }

    /// The figures of the requests that have any, in the plan's order.
    pub(crate) fn all(requests: &[String], tally: &WebSocketTally) -> Vec<WebSocketFigures> {
        let all = (0..).zip(requests).map(|(place, request)| {
            let mut figures = WebSocketFigures {
                request: request.clone(),
                ..WebSocketFigures::default()
            };
            for (fact, number) in tally.of_request(place) {
                figures.add(fact, number);
            }
            figures
        });
        let is_empty = |figures: &WebSocketFigures| {
            let nothing = WebSocketFigures {
                request: figures.request.clone(),
                ..WebSocketFigures::default()
            };
            *figures == nothing
        };
        all.filter(|figures| !is_empty(figures)).collect()
    }

    fn add(&mut self, fact: WebSocketFact, number: u64) {
        let sum = match fact {
            WebSocketFact::Opened => &mut self.opened,
            WebSocketFact::Sent => &mut self.sent,
            WebSocketFact::Received => &mut self.received,
            WebSocketFact::Answered => &mut self.answered,
            WebSocketFact::AnsweredLate => &mut self.answered_late,
            WebSocketFact::Pinged => &mut self.pings,
            WebSocketFact::Ponged => &mut self.pongs,
            WebSocketFact::CutByEnd => &mut self.cut_by_end,
            WebSocketFact::Closed(code) => self.closed.entry(code).or_default(),
        };
        *sum = sum.saturating_add(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_told_by_request() {
        let mut tally = WebSocketTally::default();
        for (request, fact, number) in [
            (0, WebSocketFact::Opened, 5),
            (0, WebSocketFact::Closed(1000), 3),
            (0, WebSocketFact::Closed(1011), 2),
            (2, WebSocketFact::Sent, 9),
        ] {
            tally.count(request, fact, number);
        }
        let names = ["a", "b", "c"].map(str::to_owned);
        let all = WebSocketFigures::all(&names, &tally);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].opened, all[1].sent), (5, 9));
        assert_eq!(all[0].closed, BTreeMap::from([(1000, 3), (1011, 2)]));
    }
}
