//! What a log may show of a file part: anything but its content, which may be a private key.

use crate::FilePart;
use std::fmt;

impl fmt::Debug for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilePart {
            run_id,
            sha256,
            size_bytes,
            offset_bytes,
            content,
        } = self;
        let bytes = content.len();
        write!(
            f,
            "FilePart({sha256:x} of run {run_id:x}, {bytes} bytes at {offset_bytes} of \
             {size_bytes})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, FromCoordinator, from_coordinator};

    #[test]
    fn content_of_a_part_is_not_in_its_debug_text() {
        let part = FilePart {
            run_id: Bytes::from_static(&[1; 2]),
            sha256: Bytes::from_static(&[0xab; 2]),
            size_bytes: 30,
            offset_bytes: 3,
            content: Bytes::from_static(b"PRIVATE KEY"),
        };
        assert_eq!(
            format!("{part:?}"),
            "FilePart(abab of run 0101, 11 bytes at 3 of 30)"
        );
        let message = FromCoordinator {
            message: Some(from_coordinator::Message::File(part)),
        };
        assert!(!format!("{message:#?}").contains("PRIVATE"), "{message:?}");
    }
}
