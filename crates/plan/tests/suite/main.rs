//! The crate as others use it.

mod campaigns;
mod canonical;
mod documents;
mod messages;
mod properties;
mod support;
