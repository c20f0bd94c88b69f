//! Paths of keys in a plan.

/// The path within a single plan for `path`, which can be in a variant or be an axis.
pub(crate) fn within_plan(path: &str) -> &str {
    match path.strip_prefix("variants.") {
        Some(rest) => rest.split_once('.').map_or("", |(_variant, path)| path),
        None => path.strip_prefix("matrix.").unwrap_or(path),
    }
}

/// Appends `name` to `path`, with a dot between them unless `path` is empty.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
