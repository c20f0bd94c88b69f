//! Values that are never shown and are wiped from memory when they go, and with the feature
//! `random` the random bytes that they are made of. Which values are secret is decided elsewhere.

#[cfg(feature = "random")]
mod random;
mod wipe;

#[cfg(feature = "random")]
pub use random::{NoRandomness, random};
pub use wipe::Wipe;

use std::fmt;

/// A value that stands as `***` in every text, and is wiped when it is dropped.
///
/// [`Secret::reveal`] is the only way to the value, so a search for it finds all code that reads
/// secrets. A value that is shared, such as an `Arc<[u8]>`, is wiped by its last owner. Copies that
/// others make of it are theirs to wipe.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T: Wipe>(T);

impl<T: Wipe> Secret<T> {
    /// Makes a secret of the value.
    #[must_use]
    pub const fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// The value, for code that uses it and does not show it.
    #[must_use]
    pub const fn reveal(&self) -> &T {
        &self.0
    }

    /// The value, to be changed in place.
    #[must_use]
    pub const fn reveal_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Wipe> From<T> for Secret<T> {
    fn from(value: T) -> Secret<T> {
        Secret::new(value)
    }
}

impl<T: Wipe> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<T: Wipe> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<T: Wipe> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_in_no_text() {
        let secret = Secret::new("planted".to_owned());
        let shown = format!("{secret} {secret:?} {secret:#?} {:?}", Some(&secret));
        assert_eq!(shown, "*** *** *** Some(***)");
        assert_eq!(secret.reveal(), "planted");
    }

    #[test]
    fn a_secret_that_goes_is_wiped() {
        /// Writes its end where a test can read it.
        struct Witness<'w>(&'w std::cell::Cell<u32>);
        impl Wipe for Witness<'_> {
            fn wipe(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let wiped = std::cell::Cell::new(0);
        drop(Secret::new(Witness(&wiped)));
        assert_eq!(wiped.get(), 1);
    }
}
