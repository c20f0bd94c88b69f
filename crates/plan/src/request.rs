//! What is sent: weighted requests whose bytes are fixed before the run, and what counts as
//! success.

use secret::Secret;
use std::sync::Arc;

/// Headers whose values let somebody in, in lower case: not for a file that is kept or handed on.
pub const SECRET_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// One kind of request of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Name in every result; unique in a plan.
    pub name: String,
    /// Method token, upper case.
    pub method: String,
    /// Path and query; the target URL's where absent.
    pub path: Option<Template>,
    /// Header fields in the plan's order, without those the engine adds (`host`, `content-length`,
    /// `connection`). Any value may be a secret, so that none is shown.
    pub headers: Vec<(String, Secret<Template>)>,
    /// Request body.
    pub body: Option<Body>,
    /// Share of all operations: weight over the sum of weights.
    pub weight: u32,
    /// What counts as success.
    pub expect: Expect,
}

/// A request body.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Written in the plan.
    Text(Template),
    /// Read from a file at check; sent as it is.
    File(crate::File),
}

/// Text with placeholders. Only these exact words are placeholders, so JSON needs no escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Pieces in order; adjacent literals are joined.
    pub pieces: Vec<Piece>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Sent as it is.
    Literal(Arc<str>),
    /// `{user}`: number of the virtual user (closed loop) or connection slot (open loop),
    /// cluster-wide, from 0.
    User,
    /// `{seq}`: number of the operation, cluster-wide, from 0.
    Seq,
    /// `{random}`: 64 seeded random bits as 16 hexadecimal digits.
    Random,
}

/// What counts as success.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// Statuses that are ok. Default: below 400.
    pub status: StatusSet,
    /// Exact body length in bytes, where it matters.
    pub bytes: Option<u64>,
}

/// A set of HTTP statuses, as inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusSet {
    /// Inclusive ranges in ascending order.
    pub ranges: Vec<(u16, u16)>,
}

impl StatusSet {
    /// Whether `status` is in the set.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges
            .iter()
            .any(|&(low, high)| (low..=high).contains(&status))
    }
}
