//! The words of a plan: one table per enum, used for reading, writing and recording plans.

/// An enum whose variants have words in plans.
pub trait Words: Copy + 'static {
    /// A value for each word, in the order in which messages list them.
    const ALL: &'static [Self];

    /// The word in a plan.
    fn word(self) -> &'static str;

    /// The value with this word, if there is one.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|value| value.word() == word)
    }
}

/// Implements [`Words`] from a table; the compiler checks that it covers the enum.
macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every word, in the order of [`Words::ALL`](crate::Words::ALL).
            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];
        }

        impl $crate::Words for $name {
            const ALL: &'static [$name] = &[$($name::$variant),+];

            fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use super::Words;
    use crate::{
        Arrivals, AtEnd, BuiltinKey, Close, EventFormat, GroupFigure, HttpVersion, JourneyNumber,
        JourneyTime, KeyExchange, KeyShare, LostAgents, NumberName, Relation, ResumptionKind,
        RowOrder, Scheme, TlsVersion, Verify,
    };

    fn check<T: Words + PartialEq + std::fmt::Debug>() {
        for &value in T::ALL {
            assert_eq!(T::from_word(value.word()), Some(value));
        }
        assert_eq!(T::from_word("no such word"), None);
    }

    #[test]
    fn each_value_is_found_by_its_word() {
        check::<Arrivals>();
        check::<AtEnd>();
        check::<BuiltinKey>();
        check::<Close>();
        check::<EventFormat>();
        check::<GroupFigure>();
        check::<HttpVersion>();
        check::<KeyExchange>();
        check::<KeyShare>();
        check::<LostAgents>();
        check::<JourneyNumber>();
        check::<JourneyTime>();
        check::<NumberName>();
        check::<Relation>();
        check::<ResumptionKind>();
        check::<RowOrder>();
        check::<Scheme>();
        check::<TlsVersion>();
        check::<Verify>();
    }
}
