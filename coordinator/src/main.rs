//! coordinator binary
fn main() {}
