//! A version byte, then postcard.

use crate::HostError;
use serde::{Serialize, de::DeserializeOwned};

/// Version of the bytes; another one is refused.
const VERSION: u8 = 3;

pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_extend(value, vec![VERSION])
        .expect("plain structs of numbers, strings and lists always encode")
}

pub(crate) fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    what: &'static str,
) -> Result<T, HostError> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            _ => Err(HostError::Undecodable { what }),
        },
        _ => Err(HostError::Undecodable { what }),
    }
}
