//! Reads what may be made of others of its kind, in an order in which each comes after those.

/// Calls `read` for each of `left`: first for those that are made of no others, then for those that
/// are made of these, and so on. `names_any` tells whether one names any for which its last
/// argument is true. Returns those that are made of themselves, by way of others or
/// not.
pub(crate) fn in_order<'a, T>(
    mut left: Vec<(&'a str, T)>,
    names_any: impl Fn(&str, &T, &dyn Fn(&str) -> bool) -> bool,
    mut read: impl FnMut(&'a str, T),
) -> Vec<(&'a str, T)> {
    while !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|(name, _)| *name).collect();
        let waits =
            |(name, item): &(&'a str, T)| names_any(name, item, &|other| names.contains(&other));
        let (waiting, ready): (Vec<_>, Vec<_>) = left.into_iter().partition(waits);
        if ready.is_empty() {
            return waiting;
        }
        for (name, item) in ready {
            read(name, item);
        }
        left = waiting;
    }
    left
}
