//! What WebSockets leave in an interval. A message belongs to the measured part if its operation
//! does, or if it was due in that part: sockets that warm a server up can be held open beyond it.

use super::{BLIND, Recorder};
use crate::{CellId, Metric, Outcome, Period, WebSocketFact};

impl Recorder {
    /// Something happened `number` times at `at` to a WebSocket.
    pub fn count_websocket(&mut self, key: CellId, fact: WebSocketFact, number: u64, at: u64) {
        let key = self.key_of_message(key, at);
        if BLIND || number == 0 || key.period != Period::Measured {
            return;
        }
        self.beside.websockets.count(key.request, fact, number);
        if fact == WebSocketFact::Answered && !self.window.contains(at) {
            let late = WebSocketFact::AnsweredLate;
            self.beside.websockets.count(key.request, late, number);
        }
    }

    /// A message that was due at `due` had its answer at `at`.
    pub fn message_answered(&mut self, key: CellId, due: u64, at: u64) {
        self.record_message(key, (Outcome::Ok, Metric::MessageTime), due, at);
    }

    /// A ping that was sent at `sent_at` had its pong at `at`.
    pub fn ping_answered(&mut self, key: CellId, sent_at: u64, at: u64) {
        self.count_websocket(key, WebSocketFact::Ponged, 1, at);
        self.record_message(key, (Outcome::Ok, Metric::PingTime), sent_at, at);
    }

    /// A ping that was sent at `sent_at` had no pong by `at`, when its time was up.
    pub fn ping_missed(&mut self, key: CellId, sent_at: u64, at: u64) {
        self.record_message(key, (Outcome::TimedOut, Metric::PingTime), sent_at, at);
    }

    /// A message that was due at `due` had no answer by `at`, when its time was up: what it had
    /// waited is a lower bound.
    pub fn message_missed(&mut self, key: CellId, due: u64, at: u64) {
        self.record_message(key, (Outcome::TimedOut, Metric::MessageTime), due, at);
    }

    fn record_message(
        &mut self,
        key: CellId,
        (outcome, metric): (Outcome, Metric),
        from: u64,
        to: u64,
    ) {
        if BLIND {
            return;
        }
        let key = self.key_of_message(key, from);
        let time = to.saturating_sub(from);
        self.cell(key).record(outcome, metric, time);
    }

    fn key_of_message(&self, key: CellId, instant: u64) -> CellId {
        match key.period {
            Period::WarmUp if self.window.contains(instant) => CellId {
                period: Period::Measured,
                ..key
            },
            Period::WarmUp | Period::Measured => key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;

    #[test]
    fn message_of_a_socket_of_the_warm_up_counts_where_it_was_due() {
        let mut recorder = Recorder::new(1).measuring(Window::new(10, 100));
        let key = |period| CellId {
            period,
            request: 0,
            address: 0,
        };
        let (warm, measured) = (key(Period::WarmUp), key(Period::Measured));
        for (key, due, at) in [(warm, 5, 20), (warm, 10, 30), (measured, 99, 150)] {
            recorder.count_websocket(key, WebSocketFact::Sent, 1, due);
            recorder.message_answered(key, due, at);
            recorder.count_websocket(key, WebSocketFact::Answered, 1, at);
        }
        recorder.message_missed(measured, 40, 90);
        let snapshot = recorder.cut(1_000_000_000, None).into_snapshot().0;
        let counts: Vec<_> = snapshot.websockets.of_request(0).collect();
        // The answer to the first message comes in the measured part, the message was before it.
        let wanted = [
            (WebSocketFact::Sent, 2),
            (WebSocketFact::Answered, 3),
            (WebSocketFact::AnsweredLate, 1),
        ];
        assert_eq!(counts, wanted);
        let times = |period| {
            let cells = snapshot.cells.iter();
            let mut cells = cells.filter(move |(key, _)| key.period == period);
            let cell = cells.next().map(|(_, cell)| cell);
            let of = |outcome| {
                let times = cell.and_then(|cell| cell.times.get(&(outcome, Metric::MessageTime)));
                times.map(|times| (times.count, times.sum))
            };
            (of(Outcome::Ok), of(Outcome::TimedOut))
        };
        assert_eq!(times(Period::WarmUp), (Some((1, 15)), None));
        assert_eq!(times(Period::Measured), (Some((2, 71)), Some((1, 50))));
    }
}
