//! Random bytes of the kernel: the only source for those that must not be guessed.
//! Schedules and draws that a seed repeats are made elsewhere.

/// The system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomness;

/// Random bytes, fit for secrets.
///
/// # Errors
/// The system gives none, neither by its call nor by its device.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn two_draws_differ() {
        assert_ne!(random::<32>(), random::<32>());
    }
}
