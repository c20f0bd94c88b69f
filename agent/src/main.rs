//! agent binary
fn main() {}
