//! The URLs that `quick` asks for: those of the command line, then those of a file.

use super::QuickArgs;
use crate::plan_file::Folder;
use plan::{Files as _, Url};
use std::collections::HashMap;
use std::path::PathBuf;

/// Most URLs: each is a request of the plan, which takes this many.
const URLS_MAX: usize = 1000;

/// Different URLs of one target in the order given, with how often each was given.
pub(super) struct QuickUrls(pub(super) Vec<(String, u32)>);

/// Returns the URLs that the flags name, or what is wrong with the first that does not fit the
/// others.
pub(super) fn of_flags(args: &QuickArgs) -> Result<QuickUrls, String> {
    let mut texts = args.url.clone();
    if let Some(file) = &args.urls {
        let content = Folder(PathBuf::new()).read(&file.to_string_lossy());
        let content = content.map_err(|why| format!("--urls: {file:?}: {why}"))?;
        let content = String::from_utf8_lossy(&content);
        let lines = content.lines().map(without_comment);
        let lines = lines.filter(|line| !line.is_empty());
        texts.extend(lines.map(str::to_owned));
    }
    let Some(first) = texts.first().cloned() else {
        return Err("--urls: names a file without a URL; write one on each line".to_owned());
    };
    let mut urls: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for text in texts {
        match places.get(&text) {
            Some(&place) => urls[place].1 += 1,
            None if is_elsewhere(&first, &text) => {
                return Err(format!(
                    "URL: {text:?} has another host than {first:?}; make a run for each host"
                ));
            }
            None if urls.len() == URLS_MAX => {
                return Err(format!(
                    "--urls: more than {URLS_MAX} different URLs; write fewer"
                ));
            }
            None => {
                places.insert(text.clone(), urls.len());
                urls.push((text, 1));
            }
        }
    }
    Ok(QuickUrls(urls))
}

/// Removes a comment, which begins with a `#` at the start of a line or after a space; within a URL
/// a `#` begins a fragment.
fn without_comment(line: &str) -> &str {
    let mut words = line.split_whitespace();
    match words.next() {
        Some(first) if first.starts_with('#') => "",
        Some(first) if words.next().is_some_and(|word| word.starts_with('#')) => first,
        _ => line.trim(),
    }
}

/// Whether the URLs have different servers. Text that is not a URL is left for the plan to refuse.
fn is_elsewhere(first: &str, other: &str) -> bool {
    let server = |url: Url| (url.scheme, url.host, url.port);
    match (first.parse().map(server), other.parse().map(server)) {
        (Ok(first), Ok(other)) => first != other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::without_comment;

    #[test]
    fn comments_are_no_urls_and_fragments_are_no_comments() {
        for (line, url) in [
            ("  https://a.test/x ", "https://a.test/x"),
            ("# the list", ""),
            ("#https://a.test/x", ""),
            ("https://a.test/x # slow", "https://a.test/x"),
            ("https://a.test/x#part", "https://a.test/x#part"),
            ("https://a.test/x y", "https://a.test/x y"),
            ("", ""),
        ] {
            assert_eq!(without_comment(line), url, "{line:?}");
        }
    }
}
