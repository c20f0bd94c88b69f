//! Gives requests whose stamps are whole seconds an instant within their second.

use crate::waiting::WaitingRequest;
use measure::SplitMix;
use std::collections::BTreeMap;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Most bytes of the seconds that are open. A second with more is spread in several parts, each
/// over the whole of it.
const OPEN_MAX_BYTES: usize = 64 << 20;

/// Holds the requests of a second until the log is past it.
///
/// All of a second that a log stamps alike would otherwise be sent at once. The instants are as
/// random as arrivals of independent users are, and the same each time; requests keep the order of
/// their lines, but for those that come when their second is over.
#[derive(Debug, Default)]
pub(crate) struct SecondSpread {
    /// Requests by the beginning of their second.
    open: BTreeMap<i64, Vec<WaitingRequest>>,
    bytes: usize,
    /// The latest second that was placed, in whole or in part.
    placed: Option<i64>,
}

impl SecondSpread {
    /// Takes a request of the second that begins at `second_ns`, and returns those that are placed
    /// by now, each with its instant. Logs with several writers change between two seconds for a
    /// while, so that a second is over when the next but one begins.
    pub(crate) fn add(
        &mut self,
        second_ns: i64,
        request: WaitingRequest,
    ) -> Vec<(i64, WaitingRequest)> {
        self.bytes += request.bytes();
        self.open.entry(second_ns).or_default().push(request);
        let newest = self
            .open
            .last_key_value()
            .map_or(second_ns, |(&second, _)| second);
        let mut placed = Vec::new();
        while let Some((&oldest, _)) = self.open.first_key_value() {
            let is_over = newest.saturating_sub(oldest) >= 2 * NS_PER_SECOND as i64;
            if !is_over && self.bytes <= OPEN_MAX_BYTES {
                break;
            }
            placed.append(&mut self.close(oldest));
        }
        placed
    }

    /// The requests of all open seconds.
    pub(crate) fn finish(mut self) -> Vec<(i64, WaitingRequest)> {
        let seconds: Vec<i64> = self.open.keys().copied().collect();
        seconds
            .into_iter()
            .flat_map(|second| self.close(second))
            .collect()
    }

    fn close(&mut self, second_ns: i64) -> Vec<(i64, WaitingRequest)> {
        let requests = self.open.remove(&second_ns).unwrap_or_default();
        let is_late = self.placed.is_some_and(|placed| second_ns <= placed);
        self.placed = self.placed.max(Some(second_ns));
        let seed = second_ns as u64;
        // Drawn alike, late requests would all have the instant of the first one.
        let seed = match requests.first().filter(|_| is_late) {
            Some(first) => SplitMix::nth(seed, first.place),
            None => seed,
        };
        let mut random = SplitMix::new(seed);
        let mut offsets: Vec<u64> = requests
            .iter()
            .map(|_| random.below(NS_PER_SECOND))
            .collect();
        offsets.sort_unstable();
        let placed = offsets.into_iter().zip(requests);
        let placed = placed.map(|(offset_ns, request)| {
            self.bytes -= request.bytes();
            (second_ns.saturating_add(offset_ns as i64), request)
        });
        placed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SecondSpread;
    use crate::waiting::WaitingRequest;

    const SECOND: i64 = 1_000_000_000;

    fn request(place: u64) -> WaitingRequest {
        WaitingRequest {
            place,
            elapsed_ns: 0,
            json: Box::default(),
        }
    }

    #[test]
    fn second_is_filled_evenly_and_in_the_order_of_its_lines() {
        let mut spread = SecondSpread::default();
        for place in 0..10_000 {
            assert_eq!(spread.add(5 * SECOND, request(place)), []);
        }
        let placed = spread.finish();
        let places: Vec<u64> = placed.iter().map(|(_, request)| request.place).collect();
        assert_eq!(places, (0..10_000).collect::<Vec<u64>>());
        assert!(placed.is_sorted_by_key(|(at, _)| *at));
        let mut tenths = [0; 10];
        placed
            .iter()
            .for_each(|(at, _)| tenths[((at - 5 * SECOND) / (SECOND / 10)) as usize] += 1);
        // 1,000 each, with a standard deviation of 30.
        assert!(
            tenths.iter().all(|&count| (850..1_150).contains(&count)),
            "{tenths:?}"
        );
    }

    #[test]
    fn second_stays_open_while_the_log_changes_between_it_and_the_next() {
        let mut spread = SecondSpread::default();
        for (place, second) in [5, 5, 6, 5, 6].into_iter().enumerate() {
            assert_eq!(spread.add(second * SECOND, request(place as u64)), []);
        }
        let placed = spread.add(7 * SECOND, request(9));
        let places: Vec<u64> = placed.iter().map(|(_, request)| request.place).collect();
        assert_eq!(places, [0, 1, 3]);
        // Late lines have their second for themselves.
        let [late, other] = [10, 11].map(|place| spread.add(2 * SECOND, request(place)));
        assert_eq!((late.len(), other.len()), (1, 1));
        assert_ne!(late[0].0, other[0].0, "they are not sent at once");
    }
}
