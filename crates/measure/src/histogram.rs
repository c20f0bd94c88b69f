//! A histogram of nanoseconds, bucket for bucket that of HdrHistogram, in memory that grows with
//! what is recorded.

use crate::bucket::{self, BUCKETS, HIGHEST};
use std::borrow::Cow;
use std::fmt;

/// Counters per page. A second of response times lies on a few dozen pages of 512 bytes; the full
/// array would be 270 kB.
const PAGE: usize = 64;
const PAGES: usize = BUCKETS / PAGE;

/// Most buckets that a list holds. Scattered values take a page for each few of them: a thousand
/// buckets of response times are 8 KiB as a list and 20 to 40 KiB as pages.
const LISTED_MAX: usize = 1024;

/// Most values that are kept one by one. With a hundred requests and a dozen addresses, a second
/// brings a few dozen values to each of ten thousand histograms: 2 bytes each here, and mostly a
/// page of 512 bytes each there.
const SAMPLES_MAX: usize = 1024;

/// Counts of values, 3 significant digits from 1 ns to one hour, in HdrHistogram's layout (lowest
/// discernible value 1, highest trackable 3.6·10¹², 3 digits), so that other HdrHistogram tools
/// read what we write.
///
/// Below 2048 ns every value has a bucket of its own; above, a bucket is at most 1/1024 of its
/// lowest value wide.
#[derive(Clone, Default)]
pub struct Histogram {
    /// By page of the bucket array: 0 where nothing was recorded on it, else its place in `pages`
    /// plus 1. Empty at first.
    directory: Vec<u16>,
    /// Pages in the order of first use. Those from `used` on are zero and wait to be used.
    pages: Vec<[u64; PAGE]>,
    used: usize,
    /// In the place of pages, while there are few buckets and nothing is recorded: what was read or
    /// merged. Ascending; empty where a page is used.
    list: Vec<ListedBucket>,
    /// In the place of both, while few values are recorded and no page was ever needed: their
    /// buckets, in the order they came.
    samples: Vec<u16>,
}

/// A bucket that is not empty, small.
#[derive(Debug, Clone, Copy, Default)]
struct ListedBucket {
    index: u16,
    count: u32,
}

/// A bucket that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value that falls into it, nanoseconds.
    pub lowest_ns: u64,
    /// Largest value that falls into it, nanoseconds.
    pub highest_ns: u64,
    /// Values recorded in it.
    pub count: u64,
}

impl Histogram {
    /// Smallest value that is told apart from 0, nanoseconds.
    pub const LOWEST_NS: u64 = 1;

    /// Largest value that has a bucket, nanoseconds: one hour.
    pub const HIGHEST_NS: u64 = HIGHEST;

    /// Significant decimal digits.
    pub const SIGNIFICANT_DIGITS: u8 = 3;

    /// Counts one value; `false` where it is above [`Histogram::HIGHEST_NS`] and was not counted.
    #[inline]
    #[must_use]
    pub fn record(&mut self, ns: u64) -> bool {
        if ns > HIGHEST {
            return false;
        }
        let index = bucket::index_of(ns);
        match self.directory.get(index / PAGE) {
            Some(&slot) if slot != 0 => self.pages[usize::from(slot) - 1][index % PAGE] += 1,
            _ => self.record_without_page(index),
        }
        true
    }

    /// Counts one value `number` times, as [`Histogram::record`] does.
    #[must_use]
    pub(crate) fn record_many(&mut self, ns: u64, number: u64) -> bool {
        if ns <= HIGHEST {
            self.add_to_page(bucket::index_of(ns), number);
        }
        ns <= HIGHEST
    }

    fn record_without_page(&mut self, index: usize) {
        let is_sampled = self.pages.is_empty() && self.list.is_empty();
        match u16::try_from(index) {
            Ok(index) if is_sampled && self.samples.len() < SAMPLES_MAX => self.samples.push(index),
            _ => self.page(index / PAGE)[index % PAGE] += 1,
        }
    }

    /// Adds the counts of `other`, exactly.
    pub fn merge(&mut self, other: &Histogram) {
        if self.is_empty() && self.pages.is_empty() {
            *self = other.without_spare_memory();
            return;
        }
        if !self.samples.is_empty() {
            self.list = self.to_list().into_owned();
            self.samples.clear();
        }
        for (number, theirs) in other.used_pages() {
            for (ours, theirs) in self.page(number).iter_mut().zip(theirs) {
                *ours = ours.saturating_add(*theirs);
            }
        }
        let theirs = other.to_list();
        if self.is_listed_with(&theirs) {
            self.merge_lists(&theirs);
        } else {
            theirs.iter().for_each(|listed| self.add_paged(*listed));
        }
    }

    fn without_spare_memory(&self) -> Histogram {
        Histogram {
            directory: match self.used {
                0 => Vec::new(),
                _ => self.directory.clone(),
            },
            pages: self.pages[..self.used].to_vec(),
            used: self.used,
            list: self.to_list().into_owned(),
            samples: Vec::new(),
        }
    }

    /// The list, also of what was recorded value by value.
    fn to_list(&self) -> Cow<'_, [ListedBucket]> {
        if self.samples.is_empty() {
            return Cow::Borrowed(&self.list);
        }
        let mut samples = self.samples.clone();
        samples.sort_unstable();
        let of_bucket = |values: &[u16]| ListedBucket {
            index: values[0],
            count: values.len() as u32, // a thousand at most
        };
        let alike = samples.chunk_by(|one, next| one == next);
        Cow::Owned(alike.map(of_bucket).collect())
    }

    /// Forgets all counts and keeps the memory; costs as much as there is recorded.
    pub fn clear(&mut self) {
        self.directory.fill(0);
        self.pages[..self.used].fill([0; PAGE]);
        self.used = 0;
        self.list.clear();
        self.samples.clear();
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        let paged = self.pages[..self.used].iter().flatten().copied();
        let listed = self.list.iter().map(|listed| u64::from(listed.count));
        let sampled = self.samples.len() as u64;
        paged.chain(listed).fold(sampled, u64::saturating_add)
    }

    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0 && self.list.is_empty() && self.samples.is_empty()
    }

    /// The buckets that are not empty, from the smallest values up.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts().map(|(index, count)| Bucket {
            lowest_ns: bucket::lowest_in(index),
            highest_ns: bucket::highest_in(index),
            count,
        })
    }

    /// HdrHistogram's percentile: the largest value that falls into the bucket in which the
    /// `percentile` (0 to 100) of all values is reached. So it is at most 1/1024 above the true one
    /// and never below. `None` where nothing is recorded.
    #[must_use]
    pub fn value_at_percentile(&self, percentile: f64) -> Option<u64> {
        self.value_at_rank(rank(percentile, self.count()))
    }

    /// Largest value of the bucket that holds the `rank`-th smallest value, counted from 1.
    pub(crate) fn value_at_rank(&self, rank: u64) -> Option<u64> {
        let mut seen = 0u64;
        self.iter().find_map(|bucket| {
            seen = seen.saturating_add(bucket.count);
            (seen >= rank).then_some(bucket.highest_ns)
        })
    }

    /// Index and count of the buckets that are not empty, ascending.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let paged = self.used_pages().flat_map(|(number, page)| {
            // The directory is in the order of values; the pages are in that of their first use.
            let counts = page.iter().enumerate().filter(|&(_, &count)| count != 0);
            let first = number * PAGE;
            counts.map(move |(offset, &count)| (first + offset, count))
        });
        let listed = self.to_list();
        let listed = (0..listed.len()).map(move |at| {
            let ListedBucket { index, count } = listed[at];
            (usize::from(index), u64::from(count))
        });
        // One of the two is empty.
        paged.chain(listed)
    }

    /// Makes room for buckets that come in ascending order.
    pub(crate) fn reserve(&mut self, buckets: usize) {
        self.list.reserve_exact(buckets.min(LISTED_MAX));
    }

    /// Adds `count` to the bucket `index`, above all that hold something; `false` where there is no
    /// such bucket.
    pub(crate) fn append(&mut self, index: usize, count: u64) -> bool {
        if index >= BUCKETS || count == 0 {
            return index < BUCKETS;
        }
        let is_listed = self.used == 0 && self.list.len() < LISTED_MAX;
        match (u16::try_from(index), u32::try_from(count)) {
            (Ok(index), Ok(count)) if is_listed => self.list.push(ListedBucket { index, count }),
            _ => self.add_to_page(index, count),
        }
        true
    }

    /// Adds another list to this one in place, from the largest bucket down.
    fn merge_lists(&mut self, other: &[ListedBucket]) {
        let (mut ours, mut theirs) = (self.list.len(), other.len());
        let mut place = ours + theirs;
        self.list.resize(place, ListedBucket::default());
        while theirs > 0 {
            let their = other[theirs - 1];
            let our = ours.checked_sub(1).map(|last| self.list[last]);
            let our = our.filter(|our| our.index >= their.index);
            let is_theirs = our.is_none_or(|our| our.index == their.index);
            place -= 1;
            self.list[place] = match our {
                Some(our) if is_theirs => ListedBucket {
                    count: our.count + their.count,
                    ..our
                },
                Some(our) => our,
                None => their,
            };
            ours -= usize::from(our.is_some());
            theirs -= usize::from(is_theirs);
        }
        // Buckets that both have left room.
        self.list.drain(ours..place);
    }

    /// Whether everything of both fits into a list.
    fn is_listed_with(&self, other: &[ListedBucket]) -> bool {
        let is_small = |listed: &ListedBucket| listed.count <= u32::MAX / 2;
        self.used == 0
            && self.list.len() + other.len() <= LISTED_MAX
            && self.list.iter().chain(other).all(is_small)
    }

    fn add_paged(&mut self, listed: ListedBucket) {
        self.add_to_page(usize::from(listed.index), u64::from(listed.count));
    }

    fn add_to_page(&mut self, index: usize, count: u64) {
        let counter = match self.directory.get(index / PAGE) {
            Some(&slot) if slot != 0 => &mut self.pages[usize::from(slot) - 1][index % PAGE],
            _ => &mut self.page(index / PAGE)[index % PAGE],
        };
        *counter = counter.saturating_add(count);
    }

    /// Bytes of memory that it has allocated.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.directory.capacity() * size_of::<u16>()
            + self.pages.capacity() * size_of::<[u64; PAGE]>()
            + self.list.capacity() * size_of::<ListedBucket>()
            + self.samples.capacity() * size_of::<u16>()
    }

    fn used_pages(&self) -> impl Iterator<Item = (usize, &[u64; PAGE])> + '_ {
        let slots = self
            .directory
            .iter()
            .enumerate()
            .filter(|&(_, &slot)| slot != 0);
        slots.map(|(number, &slot)| (number, &self.pages[usize::from(slot) - 1]))
    }

    /// The page `number`, made on first use; what was listed or kept by value is on pages from now
    /// on.
    #[cold]
    fn page(&mut self, number: usize) -> &mut [u64; PAGE] {
        if self.directory.is_empty() {
            self.directory.resize(PAGES, 0);
        }
        for listed in std::mem::take(&mut self.list) {
            self.add_paged(listed);
        }
        for index in std::mem::take(&mut self.samples) {
            self.add_to_page(usize::from(index), 1);
        }
        if self.directory[number] == 0 {
            if self.used == self.pages.len() {
                if self.pages.len() == self.pages.capacity() {
                    // Thousands of agents have a dozen of these each; doubling would waste half.
                    self.pages.reserve_exact(4 + self.pages.len() / 4);
                }
                self.pages.push([0; PAGE]);
            }
            self.used += 1;
            self.directory[number] =
                u16::try_from(self.used).expect("there are fewer pages than a u16 counts");
        }
        &mut self.pages[usize::from(self.directory[number]) - 1]
    }
}

/// Rank, from 1, of the `percentile` of `count` values. As HdrHistogram does it: the next smaller
/// float is taken, so that rounding in 99.9 / 100 × 1000 does not reach for the 1000th of 1000
/// values.
#[must_use]
pub fn rank(percentile: f64, count: u64) -> u64 {
    if percentile >= 100.0 {
        return count;
    }
    let share = percentile.max(0.0).next_down() / 100.0;
    ((share * count as f64).ceil() as u64).clamp(1, count.max(1))
}

/// Equal counts in every bucket; where they lie in memory does not matter.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.counts().eq(other.counts())
    }
}

impl Eq for Histogram {}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(
                self.iter()
                    .map(|bucket| (bucket.lowest_ns..=bucket.highest_ns, bucket.count)),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &value in values {
            assert!(histogram.record(value));
        }
        histogram
    }

    #[test]
    fn percentiles_are_those_worked_out_by_hand() {
        let one_to_thousand = recorded(&(1..=1000).collect::<Vec<_>>());
        let cases = [
            (0.0, 1),
            (0.1, 1),
            (50.0, 500),
            (50.01, 501),
            (99.0, 990),
            (99.9, 999),
            (99.91, 1000),
            (100.0, 1000),
        ];
        for (percentile, value) in cases {
            assert_eq!(
                one_to_thousand.value_at_percentile(percentile),
                Some(value),
                "p{percentile}"
            );
        }
        assert_eq!(Histogram::default().value_at_percentile(50.0), None);
        assert_eq!(
            recorded(&[1_000_000]).value_at_percentile(50.0),
            Some(1_000_447),
            "highest value of the bucket"
        );
    }

    #[test]
    fn absurd_percentiles_are_the_first_or_the_last_value() {
        let histogram = recorded(&[5, 7]);
        for (percentile, value) in [
            (-1.0, 5),
            (f64::NAN, 5),
            (f64::NEG_INFINITY, 5),
            (101.0, 7),
            (f64::INFINITY, 7),
        ] {
            assert_eq!(
                histogram.value_at_percentile(percentile),
                Some(value),
                "p{percentile}"
            );
        }
    }

    #[test]
    fn an_hour_has_a_bucket_and_a_nanosecond_more_has_none() {
        let mut histogram = Histogram::default();
        assert!(histogram.record(Histogram::HIGHEST_NS) && histogram.record(0));
        assert!(!histogram.record(Histogram::HIGHEST_NS + 1) && !histogram.record(u64::MAX));
        assert_eq!(histogram.count(), 2);
    }

    #[test]
    fn iteration_gives_ranges_and_counts_ascending() {
        let histogram = recorded(&[9_000_000, 4099, 4096, 3]);
        let buckets: Vec<_> = histogram
            .iter()
            .map(|bucket| (bucket.lowest_ns, bucket.highest_ns, bucket.count))
            .collect();
        assert_eq!(
            buckets,
            [(3, 3, 1), (4096, 4099, 2), (8_994_816, 9_003_007, 1)]
        );
    }

    /// As it comes out of a decoder.
    fn listed(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for (index, count) in recorded(values).counts() {
            assert!(histogram.append(index, count));
        }
        histogram
    }

    /// As a worker has it of which a busy second was cleared.
    fn paged(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        let _ = histogram.page(0);
        values
            .iter()
            .for_each(|&value| assert!(histogram.record(value)));
        assert!(histogram.samples.is_empty() && histogram.used > 0);
        histogram
    }

    #[test]
    fn few_buckets_are_listed_and_every_order_of_merging_gives_the_same() {
        let parts: [&[u64]; 5] = [
            &[3, 70, 70, 5_000],
            &[1, 70, 5_000, 9_000_000],
            &[],
            &[3_000_000_000, 70],
            &[2],
        ];
        let all = recorded(&parts.concat());
        let makers = [listed, recorded, paged];
        let form = |forms: usize, part: usize| forms / makers.len().pow(part as u32) % makers.len();
        for forms in 0..makers.len().pow(parts.len() as u32) {
            for first in 0..parts.len() {
                // What comes first is what the others are merged into, in its own form.
                let order = (0..parts.len()).map(|nth| (first + nth) % parts.len());
                let mut order = order.map(|part| makers[form(forms, part)](parts[part]));
                let mut sum = order.next().unwrap();
                order.for_each(|part| sum.merge(&part));
                assert_eq!((&sum, sum.count()), (&all, 11), "{forms} from {first}");
                let has_pages = (0..parts.len()).any(|part| form(forms, part) == 2);
                assert_eq!(has_pages, sum.used > 0, "{forms}: lists stay a list");
            }
        }
        let empty = listed(&[]);
        assert!(empty.is_empty() && !listed(&[1]).is_empty());
    }

    #[test]
    fn long_list_becomes_pages_and_takes_less_memory_before() {
        let values: Vec<u64> = (0..=LISTED_MAX as u64)
            .map(|nth| nth * nth * 4096)
            .collect();
        let (mut whole, mut sum) = (listed(&values), Histogram::default());
        values.chunks(7).for_each(|some| sum.merge(&listed(some)));
        assert_eq!((&whole, &sum), (&recorded(&values), &recorded(&values)));
        assert!(whole.used > 0 && sum.used > 0, "one bucket too many");
        let list = listed(&values[1..]);
        assert!(list.used == 0 && list.heap_bytes() <= 2 * 8 * LISTED_MAX);
        assert!(whole.heap_bytes() > 2 * list.heap_bytes());
        let more: Vec<u64> = (1..3 * LISTED_MAX as u64).collect();
        whole.merge(&listed(&more));
        sum.merge(&recorded(&more));
        assert!(whole == sum && whole.used > 0 && whole.list.is_empty());
        whole.clear();
        assert!(whole.is_empty() && whole == Histogram::default());
    }

    #[test]
    fn few_scattered_values_take_a_few_bytes_each() {
        let scattered = |number: u64| -> Vec<u64> {
            (0..number).map(|nth| 100_000 + nth * nth * 2_003).collect()
        };
        let few = recorded(&scattered(40));
        assert!(few.heap_bytes() <= 2 * 64, "{}", few.heap_bytes());
        assert!(paged(&scattered(40)).heap_bytes() > 10_000);
        let mut merged = Histogram::default();
        merged.merge(&few);
        assert!(merged == few && merged.heap_bytes() <= 8 * 64);
        for number in [SAMPLES_MAX - 1, SAMPLES_MAX, SAMPLES_MAX + 1] {
            let values = scattered(number as u64);
            let all = recorded(&values);
            assert_eq!((&all, all.count()), (&paged(&values), number as u64));
            assert_eq!(all.used > 0, number > SAMPLES_MAX);
        }
    }

    #[test]
    fn counts_too_large_for_a_list_lose_nothing() {
        let large = u64::from(u32::MAX);
        for counts in [[large, 1], [1, large], [large, large], [large + 1, 1]] {
            let mut sum = Histogram::default();
            for count in counts {
                let mut part = Histogram::default();
                assert!(part.append(7, count) && part.append(8, 0));
                sum.merge(&part);
            }
            let found: Vec<_> = sum.counts().collect();
            assert_eq!(found, [(7, counts[0] + counts[1])]);
        }
        assert!(!Histogram::default().append(BUCKETS, 1));
        assert!(!Histogram::default().append(usize::MAX, 0));
    }

    #[test]
    fn values_recorded_into_a_list_join_what_it_holds() {
        let mut histogram = listed(&[3, 70, 5_000]);
        assert!(histogram.record(70) && histogram.record(1));
        assert_eq!(histogram, recorded(&[3, 70, 5_000, 70, 1]));
        assert_eq!(
            (histogram.count(), histogram.value_at_rank(4)),
            (5, Some(70))
        );
    }

    #[test]
    fn cleared_histogram_is_empty_and_takes_no_new_memory_for_the_same_values() {
        let values = [1, 70, 5_000, 1_000_000, 3_000_000_000];
        for mut histogram in [recorded(&values), paged(&values)] {
            let bytes = histogram.heap_bytes();
            histogram.clear();
            assert!(histogram.is_empty() && histogram == Histogram::default());
            for value in values.into_iter().rev() {
                assert!(histogram.record(value));
            }
            assert_eq!(
                (histogram.heap_bytes(), &histogram),
                (bytes, &recorded(&values))
            );
        }
    }
}
