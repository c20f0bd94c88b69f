//! Suggests a known name for one that is not.

/// Longer names are cut, so that a long text costs little.
const CHARS_MAX: usize = 80;

/// Returns that of `names` which is most like `name`, in any case; `names` has at least one.
pub(crate) fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> &'static str {
    let name: String = name.chars().take(CHARS_MAX).collect();
    let name = name.to_ascii_lowercase();
    names
        .min_by_key(|known| strsim::damerau_levenshtein(&known.to_ascii_lowercase(), &name))
        .unwrap_or_default()
}
