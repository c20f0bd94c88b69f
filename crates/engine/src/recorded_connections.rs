//! The connections of a log that a replay repeats: which seat stands for which, and the requests
//! that wait for theirs. Knows nothing of sockets or time.

use crate::arrival::WaitingArrival;
use plan::RecordedArrivals;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A worker's part of a log's connections.
///
/// A connection has a seat from its first request until its last has been answered. If all seats
/// are taken it waits for one, and its requests with it.
pub(crate) struct RecordedConnections {
    arrivals: Arc<RecordedArrivals>,
    /// Those of which a request has been due and not all are over, by number.
    under_way: HashMap<u64, RecordedConnection>,
    /// By seat: the number of the connection that it stands for.
    by_seat: Vec<Option<u64>>,
    /// Seats that stand for none.
    free: Vec<u32>,
    /// Connections that wait for a seat, oldest first.
    unseated: VecDeque<u64>,
    /// Requests that wait, over all connections.
    waiting: usize,
    /// Seats to be looked after, and whether that is being done: the end of an operation may come
    /// while the next is begun.
    due: Vec<u32>,
    is_serving: bool,
}

#[derive(Default)]
struct RecordedConnection {
    seat: Option<u32>,
    /// Its requests that are due and have not begun, in the log's order.
    waiting: VecDeque<WaitingArrival>,
    /// Whether its last request has been due.
    has_all: bool,
}

impl RecordedConnections {
    /// The connections of the log, none of them under way; `None` if the replay does not repeat
    /// them.
    pub(crate) fn new(arrivals: &Arc<RecordedArrivals>) -> Option<RecordedConnections> {
        arrivals.repeats_connections().then(|| RecordedConnections {
            arrivals: Arc::clone(arrivals),
            under_way: HashMap::new(),
            by_seat: Vec::new(),
            free: Vec::new(),
            unseated: VecDeque::new(),
            waiting: 0,
            due: Vec::new(),
            is_serving: false,
        })
    }

    /// Requests that wait for their connection.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Lets a request wait for its connection. Returns the seat of the connection, if it has one.
    pub(crate) fn add(&mut self, request: WaitingArrival) -> Option<u32> {
        let (number, is_last) = self.arrivals.connection(request.arrival.seq);
        let connection = self.under_way.entry(number).or_insert_with(|| {
            self.unseated.push_back(number);
            RecordedConnection::default()
        });
        connection.waiting.push_back(request);
        connection.has_all |= is_last;
        self.waiting += 1;
        connection.seat
    }

    /// Passes over a request that is never sent. Returns the seat of its connection, if it has one.
    pub(crate) fn pass_over(&mut self, seq: u64) -> Option<u32> {
        let (number, is_last) = self.arrivals.connection(seq);
        let connection = self.under_way.get_mut(&number)?;
        connection.has_all |= is_last;
        connection.seat
    }

    /// A seat that stands for no connection.
    pub(crate) fn take_free_seat(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives `seat` to the connection that has waited longest for one. Returns whether there was
    /// one.
    pub(crate) fn give(&mut self, seat: u32) -> bool {
        let place = seat as usize;
        if self.by_seat.len() <= place {
            self.by_seat.resize(place + 1, None);
        }
        let next = self.unseated.pop_front();
        match next.and_then(|number| self.under_way.get_mut(&number)) {
            Some(connection) => connection.seat = Some(seat),
            None => self.free.push(seat),
        }
        self.by_seat[place] = next;
        next.is_some()
    }

    /// Takes the next request that waits for the connection of `seat`.
    pub(crate) fn next(&mut self, seat: u32) -> Option<WaitingArrival> {
        let next = self.of_seat(seat)?.waiting.pop_front()?;
        self.waiting -= 1;
        Some(next)
    }

    /// Whether requests wait for the connection of `seat`.
    pub(crate) fn is_awaited(&mut self, seat: u32) -> bool {
        let connection = self.of_seat(seat);
        connection.is_some_and(|connection| !connection.waiting.is_empty())
    }

    /// Frees `seat` if all requests of its connection have begun. Returns whether it has. Valid
    /// while none of them is under way.
    pub(crate) fn end(&mut self, seat: u32) -> bool {
        let connection = self.of_seat(seat);
        let is_over = |one: &mut RecordedConnection| one.has_all && one.waiting.is_empty();
        if !connection.is_some_and(is_over) {
            return false;
        }
        let number = self.by_seat[seat as usize].take();
        number.map(|number| self.under_way.remove(&number));
        true
    }

    /// Takes all requests that wait.
    pub(crate) fn take_waiting(&mut self) -> Vec<WaitingArrival> {
        self.waiting = 0;
        let connections = self.under_way.values_mut();
        connections.flat_map(|one| one.waiting.drain(..)).collect()
    }

    /// Notes that `seat` is to be looked after. Returns whether that is to begin now.
    pub(crate) fn begin_serving(&mut self, seat: u32) -> bool {
        self.due.push(seat);
        !std::mem::replace(&mut self.is_serving, true)
    }

    /// The next seat to be looked after; `None` ends that.
    pub(crate) fn next_due(&mut self) -> Option<u32> {
        let next = self.due.pop();
        self.is_serving = next.is_some();
        next
    }

    fn of_seat(&mut self, seat: u32) -> Option<&mut RecordedConnection> {
        let number = (*self.by_seat.get(seat as usize)?)?;
        self.under_way.get_mut(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Arrival;
    use measure::Period;
    use plan::{Files, Plan};

    /// A log of one request on each of these connections in turn.
    struct LogOf(&'static [u32]);

    impl Files for LogOf {
        fn read(&mut self, _: &str) -> Result<Arc<[u8]>, String> {
            let line = |connection| {
                let request = "\"at\":0,\"method\":\"GET\",\"path\":\"/\"";
                format!("{{{request},\"connection\":\"{connection}\"}}\n")
            };
            Ok(self
                .0
                .iter()
                .map(line)
                .collect::<String>()
                .into_bytes()
                .into())
        }

        fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
            Ok(Vec::new())
        }
    }

    fn connections(of_requests: &'static [u32]) -> RecordedConnections {
        let text = "target.url = \"http://a.test/\"\n\
                    replay = { file = \"r.jsonl\", connections = \"recorded\" }\n";
        let plan = Plan::parse(text, &mut LogOf(of_requests)).expect("a plan");
        let replay = plan.replay().expect("a replay");
        RecordedConnections::new(&replay.arrivals).expect("connections")
    }

    fn request(seq: u64) -> WaitingArrival {
        let arrival = Arrival {
            seq,
            intended_at: 0,
            period: Period::Measured,
        };
        let noticed_at = 0;
        WaitingArrival {
            arrival,
            noticed_at,
        }
    }

    fn next(connections: &mut RecordedConnections, seat: u32) -> Option<u64> {
        connections.next(seat).map(|next| next.arrival.seq)
    }

    #[test]
    fn requests_wait_for_the_seat_of_their_connection_in_the_logs_order() {
        let mut connections = connections(&[1, 2, 1, 2, 1]);
        assert_eq!(connections.add(request(0)), None);
        assert!(connections.give(3));
        assert_eq!(next(&mut connections, 3), Some(0));
        for seq in [1, 3] {
            assert_eq!(connections.add(request(seq)), None);
        }
        assert_eq!(connections.add(request(2)), Some(3));
        assert_eq!((connections.waiting(), connections.end(3)), (3, false));
        assert_eq!(next(&mut connections, 3), Some(2));
        // Its last request is not due yet.
        assert!(!connections.is_awaited(3) && !connections.end(3));
        assert_eq!(connections.add(request(4)), Some(3));
        assert_eq!(next(&mut connections, 3), Some(4));
        // The other connection gets the seat, and then nothing does.
        assert!(connections.end(3) && connections.give(3));
        assert_eq!(next(&mut connections, 3), Some(1));
        assert_eq!(next(&mut connections, 3), Some(3));
        assert!(connections.end(3) && !connections.give(3));
        assert_eq!(connections.take_free_seat(), Some(3));
        assert_eq!((connections.waiting(), connections.under_way.len()), (0, 0));
    }

    #[test]
    fn request_that_is_passed_over_may_be_the_last() {
        let mut connections = connections(&[1, 1, 2]);
        connections.add(request(0));
        assert!(connections.give(0));
        assert_eq!(next(&mut connections, 0), Some(0));
        assert_eq!(connections.pass_over(1), Some(0));
        assert!(connections.end(0));
        // A connection of which nothing is sent needs no seat.
        assert_eq!(connections.pass_over(2), None);
        assert!(!connections.give(0));
    }

    #[test]
    fn seats_are_looked_after_one_after_the_other() {
        let mut connections = connections(&[1]);
        assert!(connections.begin_serving(1));
        assert!(!connections.begin_serving(2));
        assert_eq!(connections.next_due(), Some(2));
        assert_eq!(connections.next_due(), Some(1));
        assert_eq!(connections.next_due(), None);
        assert!(connections.begin_serving(1));
    }
}
