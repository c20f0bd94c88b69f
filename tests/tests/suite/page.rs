//! The report page in a browser: it says what `result.json` says, its plots can be used, and it is
//! readable on every screen, on paper and without scripts.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod campaign;
mod figures;
mod live;
mod looks;
mod plots;
mod stage;
