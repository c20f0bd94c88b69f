//! Decides which of several requests an operation sends, by the operation's number in the cluster.

use measure::SplitMix;

/// Longest cycle; beyond it weights are rounded.
const LONGEST_CYCLE: u64 = 10_000;

/// Neighbours that are shuffled among themselves: few enough that every stretch of a long cycle has
/// nearly its share of each request.
const GROUP: usize = 16;

/// How many entries of all orders together are worthwhile; a short cycle gets many orders.
const ENTRIES: usize = 1024;

/// Distinguishes the mix's random numbers from others of the run.
const MIX_SEED: u64 = 0x7265_7175_6573_7473;

/// Requests mixed by weight.
///
/// The numbers of the cluster's operations are divided into cycles, whose length is the sum of the
/// reduced weights, and each cycle contains every request as often as its weight. So the mix is
/// exact over any whole number of cycles, and does not depend on how many agents and workers there
/// are.
///
/// Each cycle has its own order and rotation, which follow from the seed and the cycle's number.
/// This is because a worker only gets every W-th number: with a constant order it would always send
/// the same request if W is a multiple of the cycle. And if many workers counted for themselves,
/// they would send the same one at the same time.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Orders of a cycle, one after the other.
    orders: Vec<u16>,
    number: u64,
    length: u64,
    seed: u64,
}

impl Mix {
    /// Creates a mix of requests with these weights, at most 65,536 of them.
    #[must_use]
    pub fn new(weights: &[u32], seed: u64) -> Mix {
        let even = evenly(&reduce(weights));
        let number = ENTRIES.div_ceil(even.len());
        let mut random = SplitMix::new(seed ^ MIX_SEED);
        let mut orders = even.repeat(number);
        for order in orders.chunks_mut(even.len()) {
            order
                .chunks_mut(GROUP)
                .for_each(|group| random.shuffle(group));
        }
        Mix {
            orders,
            number: number as u64,
            length: even.len() as u64,
            seed: random.bits(),
        }
    }

    /// Index of the request that operation `seq` of the cluster sends.
    #[inline]
    #[must_use]
    pub fn at(&self, seq: u64) -> u16 {
        if self.length == 1 {
            return self.orders[0];
        }
        let at = self.place(seq);
        let rotated = at.place + at.rotation;
        let place = if rotated < self.length {
            rotated
        } else {
            rotated - self.length
        };
        self.orders[(at.order + place) as usize]
    }
}

/// Counts the operations of some of the mixed requests.
#[derive(Debug, Clone)]
pub(crate) struct Uses {
    mix: Mix,
    /// For each entry of the orders: how many before it, in its order, are counted.
    before: Vec<u32>,
    per_cycle: u64,
    counted: Vec<bool>,
}

impl Mix {
    /// Counts the operations of those requests for which `counted` is true.
    pub(crate) fn uses(self, counted: &[bool]) -> Uses {
        let is_counted = |&request: &u16| counted[usize::from(request)];
        let mut before = Vec::with_capacity(self.orders.len());
        let mut per_cycle = 0;
        for order in self.orders.chunks(self.length as usize) {
            per_cycle = 0;
            for request in order {
                before.push(per_cycle);
                per_cycle += u32::from(is_counted(request));
            }
        }
        Uses {
            before,
            per_cycle: u64::from(per_cycle),
            counted: counted.to_vec(),
            mix: self,
        }
    }

    /// The cycle of operation `seq`, and its place in it; where the cycle's order begins, and by
    /// how much it is rotated.
    #[inline]
    fn place(&self, seq: u64) -> MixPlace {
        let cycle = seq / self.length;
        let random = SplitMix::nth(self.seed, cycle);
        // Both are below 2³², so the halves of one random number give an order and a rotation.
        let order = ((random >> 32) * self.number) >> 32;
        MixPlace {
            cycle,
            place: seq % self.length,
            order: order * self.length,
            rotation: ((random & 0xffff_ffff) * self.length) >> 32,
        }
    }
}

/// Where an operation is in the mix.
struct MixPlace {
    cycle: u64,
    place: u64,
    order: u64,
    rotation: u64,
}

impl Uses {
    /// How many operations before `seq` are counted.
    #[inline]
    pub(crate) fn before(&self, seq: u64) -> u64 {
        let at = self.mix.place(seq);
        let before = |place: u64| u64::from(self.before[(at.order + place) as usize]);
        let rotated = at.place + at.rotation;
        let in_cycle = if rotated < self.mix.length {
            before(rotated) - before(at.rotation)
        } else {
            self.per_cycle - before(at.rotation) + before(rotated - self.mix.length)
        };
        at.cycle * self.per_cycle + in_cycle
    }

    /// The first operation that is counted after `number` others; `None` if none ever is.
    pub(crate) fn until(&self, number: u64) -> Option<u64> {
        let cycle = number.checked_div(self.per_cycle)?;
        let is_counted = |seq: &u64| self.counted[usize::from(self.mix.at(*seq))];
        // It is in this cycle: those before it have fewer.
        let mut operations = cycle * self.mix.length..;
        operations.find(|seq| is_counted(seq) && self.before(*seq) == number)
    }
}

/// Divides weights by their common divisor, and rounds them if their sum exceeds the longest cycle.
fn reduce(weights: &[u32]) -> Vec<u64> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, u64::from(b))).max(1);
    let reduced: Vec<u64> = weights
        .iter()
        .map(|&weight| u64::from(weight) / divisor)
        .collect();
    let sum: u64 = reduced.iter().sum();
    if sum <= LONGEST_CYCLE {
        return reduced;
    }
    reduced
        .iter()
        .map(|&weight| (weight * LONGEST_CYCLE / sum).max(u64::from(weight > 0)))
        .collect()
}

/// Lists each index as often as its weight, spread evenly (smooth weighted round robin): in each
/// step every index gains its weight, and the one with the highest credit is taken and pays the
/// sum.
fn evenly(weights: &[u64]) -> Vec<u16> {
    let length: u64 = weights.iter().sum();
    let mut credit = vec![0_i64; weights.len()];
    let mut order = Vec::with_capacity(length as usize);
    for _ in 0..length {
        credit
            .iter_mut()
            .zip(weights)
            .for_each(|(credit, &weight)| *credit += weight as i64);
        let richest = (0..credit.len())
            .max_by_key(|&i| (credit[i], std::cmp::Reverse(i)))
            .unwrap_or(0);
        credit[richest] -= length as i64;
        order.push(richest as u16);
    }
    if order.is_empty() { vec![0] } else { order }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycle_holds_each_request_by_its_weight_and_spreads_it() {
        let cycle = |weights: &[u32]| evenly(&reduce(weights));
        assert_eq!(cycle(&[1]), [0]);
        assert_eq!(cycle(&[]), [0]);
        assert_eq!(cycle(&[2, 2]), [0, 1]);
        assert_eq!(cycle(&[3, 1]), [0, 0, 1, 0]);
        let long = cycle(&[999_999, 1]);
        assert_eq!(long.iter().filter(|&&index| index == 1).count(), 1);
        assert!(long.len() as u64 <= LONGEST_CYCLE + 1);
    }

    #[test]
    fn operations_of_some_requests_are_counted_as_they_come() {
        for weights in [&[3, 1][..], &[1, 1, 1], &[7, 2, 5], &[1], &[4, 0, 1]] {
            let counted: Vec<bool> = (0..weights.len()).map(|index| index % 2 == 0).collect();
            let mix = Mix::new(weights, 3);
            let uses = mix.clone().uses(&counted);
            let mut number = 0;
            for seq in 0..200 {
                assert_eq!(uses.before(seq), number, "{weights:?} at {seq}");
                if counted[usize::from(mix.at(seq))] {
                    assert_eq!(uses.until(number), Some(seq), "{weights:?}");
                    number += 1;
                }
            }
        }
        let none = Mix::new(&[1, 1], 3).uses(&[false, false]);
        assert_eq!((none.before(9), none.until(0)), (0, None));
    }

    #[test]
    fn a_seed_gives_one_mix_for_ever() {
        let first = |seed| {
            (0..24)
                .map(|seq| Mix::new(&[3, 1], seed).at(seq))
                .collect::<Vec<u16>>()
        };
        assert_ne!(first(7), first(8));
        // Agents of other builds must send the same requests.
        assert_eq!(first(7), GOLDEN);
    }

    const GOLDEN: [u16; 24] = [
        0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1,
    ];
}
