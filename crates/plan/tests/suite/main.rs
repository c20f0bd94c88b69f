//! The crate as others use it.

mod campaigns;
mod canonical;
mod documents;
mod losses;
mod messages;
mod mix;
mod properties;
mod secrets;
mod support;
