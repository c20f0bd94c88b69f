//! HPACK's dynamic table (RFC 7541 §2.3.2) as the peer fills it. Only the relevant part of each
//! field is kept.

use super::field::HeaderField;
use super::hpack_error::BadBlock;
use std::collections::VecDeque;

/// The size of a table unless settings change it (RFC 9113 §6.5.2). Servers that do not read our
/// settings use it too.
const MAX_SIZE: usize = 4096;

/// The fields that the peer can refer to by index. Allocates nothing before the peer stores one.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// The newest first.
    entries: VecDeque<HeaderField>,
    size: u32,
    most: u32,
    /// Counts changes of the table.
    version: u64,
}

impl Default for DynamicTable {
    fn default() -> DynamicTable {
        DynamicTable {
            entries: VecDeque::new(),
            size: 0,
            most: MAX_SIZE as u32,
            version: 0,
        }
    }
}

impl DynamicTable {
    /// Returns the entry that was followed by `behind` others.
    pub(super) fn entry(&self, behind: usize) -> Result<HeaderField, BadBlock> {
        self.entries.get(behind).copied().ok_or(BadBlock)
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Changes whenever an index may mean another field, or none.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Stores a field in place of the oldest ones; a field that is too large empties the table (RFC
    /// 7541 §4.4).
    pub(super) fn keep(&mut self, entry: HeaderField) {
        self.make_room(entry.size());
        if entry.size() <= self.most as usize {
            self.size += entry.size() as u32;
            self.entries.push_front(entry);
            self.version += 1;
        }
    }

    /// Sets the table's size as the peer demands (RFC 7541 §6.3).
    pub(super) fn resize(&mut self, most: usize) -> Result<(), BadBlock> {
        if most > MAX_SIZE {
            return Err(BadBlock);
        }
        // A larger table keeps entries that a smaller one would drop.
        let most = most as u32;
        self.version += u64::from(self.most != most);
        self.most = most;
        self.make_room(0);
        Ok(())
    }

    fn make_room(&mut self, wanted: usize) {
        while self.size as usize + wanted > self.most as usize
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.size() as u32;
            self.version += 1;
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }
}
