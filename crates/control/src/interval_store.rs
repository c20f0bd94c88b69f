//! Where an agent puts intervals that exceed what it keeps in memory.

use proto::Bytes;
use std::fmt;

/// Bytes of intervals that an agent keeps in memory until the coordinator has stored them, over all
/// runs that it holds. At 64 KiB a second that is a quarter of an hour; anything more goes to its
/// [`IntervalStore`].
pub const HELD_MAX_BYTES: usize = 64 << 20;

/// A place outside memory, such as a file. It lasts as long as the agent: it is no archive.
pub trait IntervalStore: fmt::Debug + Send {
    /// Stores an interval.
    ///
    /// # Errors
    /// A sentence that says why it cannot be stored, and what to do.
    fn put(&mut self, encoded: &[u8]) -> Result<StoredPlace, String>;

    /// Returns what was stored at `place`.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    fn get(&mut self, place: StoredPlace) -> Result<Bytes, String>;

    /// Frees a place whose interval is no longer wanted.
    fn free(&mut self, place: StoredPlace);
}

/// The place of a stored interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPlace {
    /// Where it begins, as the store counts.
    pub offset: u64,
    /// Its length.
    pub bytes: usize,
}

/// A store that takes nothing, so that there is only memory.
#[derive(Debug)]
pub(crate) struct NoStore;

impl IntervalStore for NoStore {
    fn put(&mut self, _: &[u8]) -> Result<StoredPlace, String> {
        Err("this agent has no file for data that waits".to_owned())
    }

    fn get(&mut self, _: StoredPlace) -> Result<Bytes, String> {
        Err("this agent has no file for data that waits".to_owned())
    }

    fn free(&mut self, _: StoredPlace) {}
}

/// Memory up to [`HELD_MAX_BYTES`], and a store beyond it.
#[derive(Debug)]
pub(crate) struct Stash {
    store: Box<dyn IntervalStore>,
    memory_bytes: usize,
    /// Whether the store refused what memory has no room for.
    refused: bool,
    trouble: Option<String>,
    told: bool,
}

/// An interval in a [`Stash`].
#[derive(Debug)]
pub(crate) enum Kept {
    Memory(Bytes),
    Stored(StoredPlace),
}

impl Kept {
    pub(crate) fn len(&self) -> usize {
        match self {
            Kept::Memory(encoded) => encoded.len(),
            Kept::Stored(place) => place.bytes,
        }
    }
}

impl Stash {
    pub(crate) fn new(store: Box<dyn IntervalStore>) -> Stash {
        Stash {
            store,
            memory_bytes: 0,
            refused: false,
            trouble: None,
            told: false,
        }
    }

    /// Keeps an interval, in memory if the store refuses it.
    pub(crate) fn keep(&mut self, encoded: Bytes) -> Kept {
        if self.memory_bytes + encoded.len() > HELD_MAX_BYTES {
            match self.store.put(&encoded) {
                Ok(place) => return Kept::Stored(place),
                Err(why) => {
                    self.refused = true;
                    self.fail(why);
                }
            }
        }
        self.memory_bytes += encoded.len();
        Kept::Memory(encoded)
    }

    /// Returns the whole interval; `None` if the store lost it.
    pub(crate) fn read(&mut self, kept: &Kept) -> Option<Bytes> {
        match kept {
            Kept::Memory(encoded) => Some(encoded.clone()),
            Kept::Stored(place) => match self.store.get(*place) {
                Ok(encoded) => Some(encoded),
                Err(why) => {
                    self.fail(why);
                    None
                }
            },
        }
    }

    pub(crate) fn free(&mut self, kept: Kept) {
        match kept {
            Kept::Memory(encoded) => self.memory_bytes -= encoded.len(),
            Kept::Stored(place) => self.store.free(place),
        }
        // The store is tried again the next time that memory is full.
        self.refused &= self.memory_bytes >= HELD_MAX_BYTES;
    }

    /// Whether no more intervals should come, because the store refused what exceeds memory.
    pub(crate) fn is_full(&self) -> bool {
        self.refused
    }

    /// What is wrong with the store; reported once.
    pub(crate) fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn fail(&mut self, why: String) {
        if !self.told {
            self.told = true;
            self.trouble = Some(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store with room for `room` intervals.
    #[derive(Debug)]
    struct Shelf {
        room: usize,
        taken: Vec<Bytes>,
    }

    impl IntervalStore for Shelf {
        fn put(&mut self, encoded: &[u8]) -> Result<StoredPlace, String> {
            if self.taken.len() == self.room {
                return Err("full".to_owned());
            }
            self.taken.push(Bytes::copy_from_slice(encoded));
            Ok(StoredPlace {
                offset: self.taken.len() as u64 - 1,
                bytes: encoded.len(),
            })
        }

        fn get(&mut self, place: StoredPlace) -> Result<Bytes, String> {
            let taken = self.taken.get(place.offset as usize);
            taken.cloned().ok_or_else(|| "lost".to_owned())
        }

        fn free(&mut self, _: StoredPlace) {}
    }

    fn stash(room: usize) -> Stash {
        let taken = Vec::new();
        Stash::new(Box::new(Shelf { room, taken }))
    }

    #[test]
    fn what_is_beyond_memory_goes_to_the_store_and_comes_back() {
        let mut stash = stash(9);
        let large = Bytes::from(vec![1; HELD_MAX_BYTES - 1]);
        let first = stash.keep(large.clone());
        let second = stash.keep(Bytes::from_static(b"ab"));
        let third = stash.keep(Bytes::from_static(b"c"));
        assert!(matches!(
            (&first, &second, &third),
            (Kept::Memory(_), Kept::Stored(_), Kept::Memory(_))
        ));
        assert_eq!(stash.read(&first), Some(large));
        assert_eq!(stash.read(&second), Some(Bytes::from_static(b"ab")));
        assert!(!stash.is_full() && stash.trouble().is_none());
        stash.free(first);
        assert_eq!(stash.memory_bytes, 1);
    }

    #[test]
    fn store_that_takes_nothing_holds_reports_back_until_memory_is_free_and_is_said_once() {
        let mut stash = stash(0);
        let first = stash.keep(vec![0; HELD_MAX_BYTES].into());
        assert!(!stash.is_full(), "memory holds it");
        let second = stash.keep(vec![0; 10].into());
        assert!(stash.is_full() && matches!(second, Kept::Memory(_)));
        assert_eq!(stash.trouble().as_deref(), Some("full"));
        stash.free(second);
        assert!(stash.is_full());
        stash.free(first);
        assert!(!stash.is_full());
        let again = stash.keep(vec![0; HELD_MAX_BYTES + 1].into());
        assert!(
            stash.is_full() && stash.trouble().is_none(),
            "{}",
            again.len()
        );
    }

    #[test]
    fn what_the_store_lost_is_gone_and_said() {
        let mut stash = stash(1);
        let place = StoredPlace {
            offset: 7,
            bytes: 1,
        };
        assert_eq!(stash.read(&Kept::Stored(place)), None);
        assert_eq!(stash.trouble().as_deref(), Some("lost"));
    }
}
