//! Every message of the wire, in both directions.

use proto::{FromAgent, FromCoordinator, Message};

/// The bytes of a message from either side.
pub fn messages(data: &[u8]) {
    comes_back::<FromAgent>(data);
    comes_back::<FromCoordinator>(data);
}

/// A message that was decoded is decoded to the same after encoding it again.
fn comes_back<T: Message + Default + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let Ok(message) = T::decode(data) else {
        return; // refused, as nearly all bytes should be
    };
    let said = message.encode_to_vec();
    assert_eq!(said.len(), message.encoded_len());
    assert!(
        T::decode(said.as_slice()).as_ref() == Ok(&message),
        "{message:?}"
    );
}
