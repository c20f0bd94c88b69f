//! The crate as others use it.

mod canonical;
mod documents;
mod messages;
mod properties;
mod support;
