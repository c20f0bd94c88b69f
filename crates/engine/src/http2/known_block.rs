//! The latest header block on a connection, recognised without decoding it.

use super::dynamic_table::DynamicTable;
use super::field_texts::FieldTexts;
use super::hpack;
use super::hpack_error::BadBlock;
use super::response_fields::ResponseFields;

/// Largest block that is kept, which bounds the memory per connection.
const MAX_KNOWN: usize = 2048;

/// A block that was read before and left the table unchanged, so that it means the same as long as
/// the table does not change. Servers send the same block to every request, except for the date,
/// which changes once a second.
#[derive(Debug, Default)]
pub(super) struct KnownBlock {
    /// Empty before the second block on a connection, since the first may be its last.
    bytes: Vec<u8>,
    fields: ResponseFields,
    /// Version of the table that it was read with.
    table_version: u64,
    /// Whether a block has come before.
    has_come: bool,
}

impl KnownBlock {
    /// Returns the fields of `block`, read with `table`. If `texts` are kept, every block is read.
    pub(super) fn read(
        &mut self,
        block: &[u8],
        table: &mut DynamicTable,
        texts: &mut Option<Box<FieldTexts>>,
    ) -> Result<ResponseFields, BadBlock> {
        let version = table.version();
        if version == self.table_version && block == self.bytes {
            return Ok(self.fields);
        }
        let fields = hpack::read(block, table, texts)?;
        if texts.is_some() {
            return Ok(fields);
        }
        let is_first = !std::mem::replace(&mut self.has_come, true);
        if !is_first && table.version() == version && block.len() <= MAX_KNOWN {
            self.bytes.clear();
            self.bytes.extend_from_slice(block);
            (self.fields, self.table_version) = (fields, version);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(known: &mut KnownBlock, block: &[u8], table: &mut DynamicTable) -> Option<u16> {
        let fields = known.read(block, table, &mut None).unwrap();
        assert_eq!(fields.fault(), None);
        fields.status
    }

    #[test]
    fn block_means_another_thing_once_the_table_is_another() {
        let (mut known, mut table) = (KnownBlock::default(), DynamicTable::default());
        assert_eq!(status(&mut known, b"\x48\x03301", &mut table), Some(301));
        for _ in 0..3 {
            assert_eq!(status(&mut known, b"\xbe", &mut table), Some(301));
        }
        assert_eq!(status(&mut known, b"\x48\x03302", &mut table), Some(302));
        assert_eq!(status(&mut known, b"\xbe", &mut table), Some(302));
        assert_eq!(status(&mut known, b"\xbf", &mut table), Some(301));
        // This empties the table.
        assert_eq!(status(&mut known, b"\x20\x88", &mut table), Some(200));
        assert!(known.read(b"\xbf", &mut table, &mut None).is_err());
    }

    #[test]
    fn block_that_fills_the_table_fills_it_each_time() {
        let (mut known, mut table) = (KnownBlock::default(), DynamicTable::default());
        for times in 1..=4 {
            status(&mut known, b"\x88\x40\x01a\x01b", &mut table);
            assert_eq!(table.size(), times * 34);
        }
        // Without a table nothing changes, so the block is recognised.
        status(&mut known, b"\x20\x88", &mut table);
        let version = table.version();
        for _ in 0..3 {
            status(&mut known, b"\x88\x40\x01a\x01b", &mut table);
        }
        assert_eq!((table.size(), table.version()), (0, version));
    }
}
