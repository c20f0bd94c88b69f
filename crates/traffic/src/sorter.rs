//! Puts requests in order of arrival within a bound of memory: servers log a request when it ends.

use crate::waiting::WaitingRequest;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Requests in order of their arrival.
#[derive(Debug)]
pub(crate) struct Sorter {
    heap: BinaryHeap<SortedRequest>,
    bytes: usize,
    bytes_max: usize,
    arrivals: u64,
    /// The instant of the last request that was let go.
    last_ns: Option<i64>,
}

/// A request by its arrival; the earliest is the greatest, as the heap wants it.
#[derive(Debug, PartialEq, Eq)]
struct SortedRequest {
    at_ns: i64,
    nth: u64,
    request: WaitingRequest,
}

impl Ord for SortedRequest {
    fn cmp(&self, other: &SortedRequest) -> Ordering {
        (other.at_ns, other.nth).cmp(&(self.at_ns, self.nth))
    }
}

impl PartialOrd for SortedRequest {
    fn partial_cmp(&self, other: &SortedRequest) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Sorter {
    /// Holds at most `bytes_max`, but at least one request.
    pub(crate) fn new(bytes_max: usize) -> Sorter {
        Sorter {
            heap: BinaryHeap::new(),
            bytes: 0,
            bytes_max,
            arrivals: 0,
            last_ns: None,
        }
    }

    /// Takes a request that arrived at `at_ns`.
    ///
    /// # Errors
    /// Gives it back if a later request was let go before.
    pub(crate) fn add(
        &mut self,
        at_ns: i64,
        request: WaitingRequest,
    ) -> Result<(), WaitingRequest> {
        if self.last_ns.is_some_and(|last_ns| at_ns < last_ns) {
            return Err(request);
        }
        self.bytes += request.bytes();
        let nth = self.arrivals;
        self.arrivals += 1;
        self.heap.push(SortedRequest {
            at_ns,
            nth,
            request,
        });
        Ok(())
    }

    /// Lets the earliest request go, if there is no room for all.
    pub(crate) fn overflow(&mut self) -> Option<(i64, WaitingRequest)> {
        if self.bytes <= self.bytes_max {
            return None;
        }
        self.pop()
    }

    /// Lets the earliest request go.
    pub(crate) fn pop(&mut self) -> Option<(i64, WaitingRequest)> {
        let SortedRequest { at_ns, request, .. } = self.heap.pop()?;
        self.bytes -= request.bytes();
        self.last_ns = Some(at_ns);
        Some((at_ns, request))
    }
}

#[cfg(test)]
mod tests {
    use super::Sorter;
    use crate::waiting::WaitingRequest;

    fn request(place: u64) -> WaitingRequest {
        WaitingRequest {
            place,
            elapsed_ns: 0,
            json: Box::default(),
        }
    }

    fn places(sorter: &mut Sorter) -> Vec<u64> {
        std::iter::from_fn(|| sorter.pop())
            .map(|(_, request)| request.place)
            .collect()
    }

    #[test]
    fn equal_instants_keep_the_order_of_their_lines() {
        let mut sorter = Sorter::new(usize::MAX);
        for (place, at) in [3, 1, 3, 2, 1].into_iter().enumerate() {
            sorter.add(at, request(place as u64)).unwrap();
        }
        assert_eq!(sorter.overflow(), None);
        assert_eq!(places(&mut sorter), [1, 4, 3, 0, 2]);
    }

    #[test]
    fn what_comes_before_a_request_that_is_gone_is_given_back() {
        let mut sorter = Sorter::new(2 * request(0).bytes());
        for (place, at) in [(0, 10), (1, 12), (2, 11)] {
            sorter.add(at, request(place)).unwrap();
        }
        assert_eq!(sorter.overflow().map(|(at, _)| at), Some(10));
        assert_eq!(sorter.overflow(), None);
        assert_eq!(sorter.add(9, request(3)).unwrap_err().place, 3);
        sorter.add(10, request(4)).unwrap();
        assert_eq!(places(&mut sorter), [4, 2, 1]);
    }
}
