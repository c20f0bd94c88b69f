//! Why a run was not made.

/// Why a run was not made.
#[derive(Debug)]
pub(super) enum NotMade {
    /// The end was asked for before it began.
    Stopped,
    /// Something that it needs failed.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for NotMade {
    fn from(error: E) -> NotMade {
        NotMade::Failed(error.into())
    }
}
