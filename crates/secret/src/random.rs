//! Random bytes of the kernel (getrandom(2)): the only source for those that must not be
//! guessed.
//! Schedules and draws that a seed repeats are made elsewhere.

use rustix::rand::{GetRandomFlags, getrandom};

/// The system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomness;

/// Random bytes, fit for secrets; at most 256.
///
/// # Errors
/// The kernel has no such system call, or forbids it.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    // getrandom gives all or none of so short a buffer.
    const { assert!(N <= 256) };
    let mut bytes = [0; N];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(given) if given == N => Ok(bytes),
        _ => Err(NoRandomness),
    }
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn two_draws_differ() {
        assert_ne!(random::<32>(), random::<32>());
    }
}
