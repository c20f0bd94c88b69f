//! A load machine: joins a coordinator and fires what it is told

pub mod link;
