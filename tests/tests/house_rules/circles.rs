//! Which file of a package names what another one defines. Two files that name each other, or a
//! longer circle of files, can only be understood together; they should be one, or what they share
//! should be elsewhere.
//!
//! Names are traced through `use` and re-exports to the file that defines them. The scanner relies
//! on rustfmt: items of a module begin in the first column.

use super::{packages_folders, shipped};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Re-exports through which a name is traced; more would be a circle of `use`.
const HOPS_MAX: usize = 16;

/// Words that begin an item, before its name.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "union", "type", "const", "static",
];

/// A module's path within its package; the root's is empty.
type ModulePath = Vec<String>;

/// A file as a module.
#[derive(Debug, Default)]
struct Module {
    /// Items that it defines.
    items: BTreeSet<String>,
    /// Names brought in by `use`, with the paths they stand for.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// Every path in its code.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of a package, and which of them name each other.
#[derive(Debug, Default)]
struct Package {
    modules: BTreeMap<ModulePath, Module>,
}

impl Package {
    /// Builds it from sources: paths below `src`, and text.
    fn new<'s>(sources: impl IntoIterator<Item = (&'s str, &'s str)>) -> Package {
        let sources = sources.into_iter();
        let modules = sources.filter_map(|(path, text)| Some((module_path(path)?, scan(text))));
        Package {
            modules: modules.collect(),
        }
    }

    /// Files that reach each other, as module paths; empty if the package has no circle.
    fn circles(&self) -> Vec<Vec<String>> {
        let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = self
            .modules
            .keys()
            .map(|from| (from, self.reached(from)))
            .collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (from, reached) in &reach {
            let mutual = reached.iter().filter(|to| reach[*to].contains(*from));
            let circle: Vec<String> = mutual.map(|path| path.join("::")).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The items of `to` that `from` names, for a message.
    fn names(&self, from: &str, to: &str) -> BTreeSet<String> {
        let path = |text: &str| -> ModulePath {
            let parts = text.split("::").filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let (from, to) = (path(from), path(to));
        let named = self
            .modules
            .get(&from)
            .into_iter()
            .flat_map(|module| &module.paths);
        named
            .filter(|named| self.defined_in(&from, named, HOPS_MAX) == Some(&to))
            .map(|named| named.join("::"))
            .collect()
    }

    /// All files that can be reached from one; it is included itself only if it is in a circle.
    fn reached(&self, from: &ModulePath) -> BTreeSet<&ModulePath> {
        let mut reached = BTreeSet::new();
        let mut open = self.neighbours(from);
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.neighbours(next));
            }
        }
        reached
    }

    /// The files that a file names, except itself and its parent modules: a child may use what its
    /// parents define, such as fields of a struct.
    fn neighbours(&self, from: &ModulePath) -> Vec<&ModulePath> {
        let paths = self.modules[from].paths.iter();
        let files = paths.filter_map(|path| self.defined_in(from, path, HOPS_MAX));
        files.filter(|file| !from.starts_with(file)).collect()
    }

    /// The file that defines what `path` names in module `at`; `None` if it is in another package.
    fn defined_in(&self, at: &[String], path: &[String], hops: usize) -> Option<&ModulePath> {
        let (module, rest) = self.enter(at, path)?;
        let Some((name, _)) = rest.split_first() else {
            return None; // a module, but no item of it
        };
        let (key, found) = self.modules.get_key_value(&module)?;
        if found.items.contains(name) {
            return Some(key);
        }
        let hops = hops.checked_sub(1)?;
        if let Some(import) = found.imports.get(name) {
            let whole: Vec<String> = import.iter().chain(&rest[1..]).cloned().collect();
            return (whole != path || module != at)
                .then(|| self.defined_in(&module, &whole, hops))
                .flatten();
        }
        found.globs.iter().find_map(|glob| {
            let whole: Vec<String> = glob.iter().chain(rest).cloned().collect();
            self.defined_in(&module, &whole, hops)
        })
    }

    /// Follows a path as far as it leads through modules; `None` if it begins with neither a module
    /// nor a name in `at`.
    fn enter<'p>(&self, at: &[String], path: &'p [String]) -> Option<(ModulePath, &'p [String])> {
        let mut module = at.to_vec();
        let mut rest = path;
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => _ = module.pop()?,
                name => {
                    let inner: ModulePath =
                        module.iter().cloned().chain([name.to_owned()]).collect();
                    if !self.modules.contains_key(&inner) {
                        break;
                    }
                    module = inner;
                }
            }
            rest = after;
        }
        Some((module, rest))
    }
}

/// `a/b.rs` is `a::b`; `None` for tests and binaries, which are not modules of the library.
fn module_path(path: &str) -> Option<ModulePath> {
    let path = path.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let mut parts: ModulePath = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "tests")
        || parts.first().is_some_and(|it| it == "bin")
    {
        return None;
    }
    if matches!(path, "lib" | "main") {
        parts.clear();
    }
    Some(parts)
}

fn scan(text: &str) -> Module {
    let shipped = text
        .split("\n#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let code = bare(shipped);
    let mut module = Module::default();
    let mut rest = code.as_str();
    let mut body = String::new();
    while !rest.is_empty() {
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = &rest[..line_end];
        let words = item_words(line);
        if words.first() == Some(&"use") {
            let end = rest.find(';').map_or(rest.len(), |at| at + 1);
            let tree = rest[..end].split_once("use ").map_or("", |(_, tree)| tree);
            import(&mut module, &[], tree.trim_end_matches(';'));
            rest = &rest[end..];
            continue;
        }
        if let [kind, name, ..] = words[..]
            && ITEMS.contains(&kind)
        {
            module.items.insert(name.to_owned());
        }
        if let ["macro_rules!", name, ..] = words[..] {
            module.items.insert(name.to_owned());
        }
        body.push_str(line);
        rest = &rest[line_end..];
    }
    let imported: Vec<Vec<String>> = module.imports.values().cloned().collect();
    module.paths.extend(imported);
    module.paths.extend(paths(&body));
    module
}

/// The words of a line that begins an item, without visibility and qualifiers.
fn item_words(line: &str) -> Vec<&str> {
    if line.starts_with(char::is_whitespace) {
        return Vec::new();
    }
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '!' | '(' | ')');
    let words = line
        .split(|c| !is_of_word(c))
        .filter(|word| !word.is_empty());
    let is_plain = |word: &&str| {
        !word.starts_with("pub") && !matches!(*word, "async" | "unsafe" | "in" | "path")
    };
    let mut words: Vec<&str> = words.filter(is_plain).collect();
    if words.first() == Some(&"const") && words.get(1) == Some(&"fn") {
        words.remove(0);
    }
    // `fn name(argument` and `struct Name(`.
    words
        .iter()
        .map(|word| word.split('(').next().unwrap_or(word))
        .collect()
}

/// Adds a tree of `use`: `a::{b, c::D as E, f::*}` after `before`.
fn import(module: &mut Module, before: &[String], tree: &str) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let inner = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
        let path = joined(before, path.trim_end_matches("::"));
        split_group(inner)
            .into_iter()
            .for_each(|part| import(module, &path, part));
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (tree, None),
    };
    let mut path = joined(before, path);
    match path.last().map(String::as_str) {
        None => {}
        Some("*") => {
            path.pop();
            module.globs.push(path);
        }
        Some(last) => {
            if last == "self" {
                path.pop();
            }
            let name = alias.map(str::to_owned).or_else(|| path.last().cloned());
            // `use x as _` does not bring in a name.
            if let Some(name) = name {
                let is_hidden = name == "_";
                let key = if is_hidden { path.join("::") } else { name };
                module.imports.insert(key, path);
            }
        }
    }
}

fn joined(before: &[String], path: &str) -> Vec<String> {
    let parts = path
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    before
        .iter()
        .cloned()
        .chain(parts.map(str::to_owned))
        .collect()
}

/// Splits a group at its commas, except those of inner groups.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[from..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Paths of two or more words in code.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let pieces = code
        .split(|c| !is_of_path(c))
        .filter(|piece| piece.contains("::"));
    pieces
        .map(|piece| joined(&[], piece))
        .filter(|path| path.len() > 1)
        .collect()
}

/// Code without comments and without the content of strings.
pub(super) fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => string_length(rest),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#\"") => raw_string_length(rest),
            '\'' => char_length(rest),
            _ => 0,
        };
        if skipped > 0 {
            rest = &rest[skipped..];
            continue;
        }
        bare.push(c);
        rest = &rest[c.len_utf8()..];
    }
    bare
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = true; // the opening quote does not close the string
    for (at, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' if !is_escaped => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    let end = format!("\"{}", "#".repeat(hashes));
    let from = 1 + hashes + 1;
    text[from..]
        .find(&end)
        .map_or(text.len(), |at| from + at + end.len())
}

/// Length of a character literal; 0 for a lifetime.
fn char_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => {
            let end = text[3..].find('\'');
            end.map_or(0, |at| 3 + at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// What the files of a circle name of each other, for a message.
fn described(package: &Package, circle: &[String]) -> String {
    let mut text = String::new();
    for from in circle {
        for to in circle.iter().filter(|to| *to != from) {
            let names = package.names(from, to);
            if !names.is_empty() {
                let _ = writeln!(text, "  {from} names {names:?} of {to}");
            }
        }
    }
    text
}

#[test]
fn no_package_has_a_circle_of_files() {
    let mut wrong = String::new();
    for (name, folder) in packages_folders() {
        let sources = shipped(&folder);
        let package = Package::new(
            sources
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        for circle in package.circles() {
            let described = described(&package, &circle);
            let _ = writeln!(wrong, "{name}: {}:\n{described}", circle.join(", "));
        }
    }
    assert!(
        wrong.is_empty(),
        "files that name each other; move what they share into a file below both:\n{wrong}"
    );
}

fn circles(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    Package::new(sources.iter().copied()).circles()
}

#[test]
fn files_that_name_each_other_are_a_circle_and_those_that_do_not_are_none() {
    let one_way = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
        ("b.rs", "pub struct B;\n"),
    ];
    assert_eq!(circles(&one_way), Vec::<Vec<String>>::new());
    let mut both = one_way;
    both[2].1 = "pub struct B;\nfn b() {\n    super::a::A::new()\n}\n";
    assert_eq!(circles(&both), [["a", "b"]]);
}

#[test]
fn child_may_name_what_its_parent_defines() {
    let sources = [
        (
            "a.rs",
            "mod child;\nuse child::Child;\npub struct A(Child);\n",
        ),
        (
            "a/child.rs",
            "use super::A;\npub struct Child;\nfn child(it: &A) {}\n",
        ),
    ];
    assert_eq!(circles(&sources), Vec::<Vec<String>>::new());
}

#[test]
fn names_are_traced_through_reexports_groups_and_aliases_to_where_they_are_defined() {
    let sources = [
        (
            "lib.rs",
            "mod a;\nmod b;\npub use a::{inner::Inner as Renamed, A};\n",
        ),
        ("a.rs", "mod inner;\npub struct A;\n"),
        ("a/inner.rs", "pub struct Inner;\nuse crate::b::B;\n"),
        ("b.rs", "use crate::{Renamed};\npub struct B;\n"),
    ];
    assert_eq!(circles(&sources), [["a::inner", "b"]]);
}

#[test]
fn comments_strings_lifetimes_and_tests_name_nothing() {
    let code = r#"// crate::a::A
pub struct B<'a>(&'a str);
const C: char = '"';
const S: &str = "crate::a::A\"";

#[cfg(test)]
mod tests {
    use crate::a::A;
}
"#;
    let sources = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\npub struct A;\n"),
        ("b.rs", code),
    ];
    assert_eq!(circles(&sources), Vec::<Vec<String>>::new());
}
