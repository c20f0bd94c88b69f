//! Every message of the wire, both ways.

use proto::{FromAgent, FromCoordinator, Message};

/// Bytes of a message, of whichever side.
pub fn messages(data: &[u8]) {
    comes_back::<FromAgent>(data);
    comes_back::<FromCoordinator>(data);
}

/// What was understood, is understood in the same way when it is said again.
fn comes_back<T: Message + Default + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let Ok(message) = T::decode(data) else {
        return; // refused, which is right for nearly all bytes
    };
    let said = message.encode_to_vec();
    assert_eq!(said.len(), message.encoded_len());
    assert!(
        T::decode(said.as_slice()).as_ref() == Ok(&message),
        "{message:?}"
    );
}
