//! Reads `[let]`: values that are made for each operation.

use crate::read::context::Context;
use crate::read::dependencies::in_order;
use crate::read::field::Field;
use crate::read::node::{NodeValue, Table};
use crate::read::number_range;
use crate::read::plan_names::{PlanNames, without_raw};
use crate::read::section::PlanSection;
use crate::read::template::template_with;
use crate::read::variables::{RESERVED, is_fit, names_in};
use crate::{
    Composition, Digest, Encoding, Generator, HashFunction, MadeSource, MadeValue, Piece, Request,
    SECRET_HEADERS, Template, TimeFormat, mask,
};
use std::sync::Arc;

/// The section of the made values.
pub(crate) const SECTION: &str = "let";
const MAX_VALUES: usize = 200;
/// Values that are made for one, itself included. A digest of digests would otherwise take as long
/// as a plan likes.
const MAX_WORK: usize = 50;
const MAX_CHARACTERS: u16 = 4096;
const MAX_CHOICES: usize = 1000;

/// Keys of which a table has one, and which say what kind of value it is.
const KINDS: [&str; 7] = [
    "counter",
    "timestamp",
    "random",
    "one_of",
    "digest",
    "hmac",
    "encode",
];

const EXAMPLES: &str = "\"uuid\", \"counter\", \"timestamp\", or a table such as \
                        { random = [1, 6] }";

/// Names of the made values that a plan declares, whether they can be read or not.
pub(crate) fn names(plan: &Table) -> Vec<String> {
    match plan.get(SECTION).map(|entry| &entry.node.value) {
        Some(NodeValue::Table(values)) => values.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

/// Reads all made values, ordered by name; `None` if one is wrong and was reported.
pub(crate) fn read(root: &PlanSection<'_>) -> Option<Vec<Arc<MadeValue>>> {
    let section = root.section(SECTION)?;
    let fields = section.all();
    if fields.len() > MAX_VALUES {
        section.problem(format_args!(
            "has {} values; write at most {MAX_VALUES}",
            fields.len()
        ));
        return None;
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let (number, mut made) = (fields.len(), Vec::new());
    let names_any = |_: &str, field: &Field<'_>, is_wanted: &dyn Fn(&str) -> bool| {
        let mut parts = texts_of(field)
            .flat_map(names_in)
            .map(|name| without_raw(name).0);
        parts.any(is_wanted)
    };
    let circles = in_order(fields, names_any, |name, field| {
        let reader = MadeReader {
            made: &made,
            names: &names,
            field: &field,
        };
        made.extend(reader.value(name).map(Arc::new));
    });
    for (_, field) in circles {
        field.problem("is made of itself, or of a value that is; change what it is made of");
    }
    made.sort_by(|a: &Arc<MadeValue>, b| a.name.cmp(&b.name));
    (made.len() == number).then_some(made)
}

/// The texts of a value that may name others.
fn texts_of<'a>(field: &Field<'a>) -> impl Iterator<Item = &'a str> {
    let table = match &field.node.value {
        NodeValue::Table(table) => Some(table),
        _ => None,
    };
    let text = move |key| match &table?.get(key)?.node.value {
        NodeValue::Text(text) => Some(text.as_str()),
        _ => None,
    };
    ["of", "key"].into_iter().filter_map(text)
}

/// Reads one value.
struct MadeReader<'r, 'a> {
    /// The values that it may be made of.
    made: &'r [Arc<MadeValue>],
    /// Names of all values.
    names: &'r [&'r str],
    field: &'r Field<'a>,
}

impl<'a> MadeReader<'_, 'a> {
    fn value(&self, name: &str) -> Option<MadeValue> {
        // A key of that name would be masked in texts that are saved.
        if !is_fit(name) || mask::is_secret_key(name) {
            let reserved = RESERVED.iter().chain(&SECRET_HEADERS);
            let reserved: Vec<&str> = reserved.copied().collect();
            self.field.problem(format_args!(
                "is not the name of a made value; write letters, digits, \"_\" and \"-\", \
                 beginning with a letter, and none of {}",
                reserved.join(", ")
            ));
            return None;
        }
        let source = match &self.field.node.value {
            NodeValue::Table(_) => self.of_table()?,
            _ => MadeSource::Generated(self.of_word()?),
        };
        let value = MadeValue {
            name: name.to_owned(),
            source,
        };
        let work = value.work();
        if work > MAX_WORK {
            self.field.problem(format_args!(
                "takes {work} values, counted as often as they are made; let it take at most \
                 {MAX_WORK}"
            ));
            return None;
        }
        Some(value)
    }

    fn of_word(&self) -> Option<Generator> {
        match self.field.text(EXAMPLES)? {
            "uuid" => Some(Generator::Uuid),
            "counter" => Some(Generator::Counter { first: 0, step: 1 }),
            "timestamp" => "unix".parse().ok().map(Generator::Timestamp),
            _ => {
                self.field
                    .refuse(format_args!("is not known here; write {EXAMPLES}"));
                None
            }
        }
    }

    fn of_table(&self) -> Option<MadeSource> {
        let section = self.field.section()?;
        let given = KINDS.iter().filter(|kind| section.has(kind));
        let given: Vec<&str> = given.copied().collect();
        let source = match given.as_slice() {
            ["counter"] => counter(&section).map(MadeSource::Generated),
            ["timestamp"] => self.timestamp(&section).map(MadeSource::Generated),
            ["random"] => self.random(&section).map(MadeSource::Generated),
            ["one_of"] => self.one_of(&section).map(MadeSource::Generated),
            ["digest" | "hmac" | "encode"] => self.composition(&section).map(MadeSource::Composed),
            [] => {
                // So that a slip in the key is told as one.
                KINDS.iter().for_each(|kind| drop(section.field(kind)));
                section.problem(format_args!(
                    "does not say what it is; write {EXAMPLES} (also one_of, digest, hmac, encode)"
                ));
                None
            }
            [first, second, ..] => {
                section.problem(format_args!(
                    "has {first} and {second}; write each as a value of its own"
                ));
                return None;
            }
            [_] => None, // all kinds have been named above
        };
        if !given.is_empty() {
            section.finish();
        }
        source
    }

    fn timestamp(&self, section: &PlanSection<'a>) -> Option<Generator> {
        let format: TimeFormat = section.read("timestamp", |field| {
            self.refuse_names(&field)?;
            field.parse("a format such as \"iso8601\"")
        })?;
        if format.characters().chars().any(char::is_control) {
            section.problem_at("timestamp", "has a control character; remove it");
            return None;
        }
        Some(Generator::Timestamp(format))
    }

    fn random(&self, section: &PlanSection<'a>) -> Option<Generator> {
        let field = section.field("random")?;
        if let NodeValue::List(_) = field.node.value {
            section.refuse(&["alphabet"], "is for a number of characters; remove it");
            let decimals = section.read("decimals", |field| field.whole(0..=9));
            let given = section.has("decimals");
            if given && decimals.is_none() {
                return None;
            }
            return number_range::read(&field, decimals).map(Generator::Number);
        }
        section.refuse(&["decimals"], "is for a range of numbers; remove it");
        let length = field.whole(1..=u64::from(MAX_CHARACTERS));
        let alphabet = if section.has("alphabet") {
            section.read("alphabet", |field| self.alphabet(&field))
        } else {
            section.problem(
                "has no alphabet; write alphabet = \"hex\", \"alnum\", \"base64url\" or the \
                 characters themselves",
            );
            None
        };
        Some(Generator::Characters {
            alphabet: alphabet?,
            length: u16::try_from(length?).ok()?,
        })
    }

    fn alphabet(&self, field: &Field<'_>) -> Option<Arc<[char]>> {
        self.refuse_names(field)?;
        let text = field.text("\"hex\", \"alnum\", \"base64url\" or the characters themselves")?;
        let (digits, lower) = ('0'..='9', 'a'..='z');
        let alphabet: Vec<char> = match text {
            "hex" => digits.chain('a'..='f').collect(),
            "alnum" => digits.chain('A'..='Z').chain(lower).collect(),
            "base64url" => ('A'..='Z')
                .chain(lower)
                .chain(digits)
                .chain(['-', '_'])
                .collect(),
            characters => characters.chars().collect(),
        };
        let mut sorted = alphabet.clone();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some(twice) = twice {
            field.refuse(format_args!(
                "has {:?} twice; write each character once, or \"hex\", \"alnum\" or \"base64url\"",
                twice[0]
            ));
        } else if !(2..=256).contains(&alphabet.len()) {
            field.refuse("is no alphabet; write 2 to 256 characters");
        } else if alphabet.iter().any(|c| c.is_control()) {
            field.refuse("has a control character; remove it");
        } else {
            return Some(alphabet.into());
        }
        None
    }

    fn one_of(&self, section: &PlanSection<'a>) -> Option<Generator> {
        let field = section.field("one_of")?;
        let texts = field.list_of("texts such as [\"red\", \"green\"]", |field| {
            self.refuse_names(field)?;
            match &field.node.value {
                NodeValue::Whole(_) | NodeValue::Decimal(_) | NodeValue::Flag(_) => {
                    Some(field.node.value.to_text())
                }
                _ => field.text("a text, a number or a flag").map(str::to_owned),
            }
        })?;
        if !(1..=MAX_CHOICES).contains(&texts.len()) {
            field.problem(format_args!(
                "has {} texts; write 1 to {MAX_CHOICES}, or take more from a file as a column of \
                 [data.NAME] with order = \"random\"",
                texts.len()
            ));
            return None;
        }
        Some(Generator::OneOf(texts))
    }

    fn composition(&self, section: &PlanSection<'a>) -> Option<Composition> {
        let (digest, encoding) = if section.has("encode") {
            let why = "is for digest and hmac; remove it: encode says how the text is written";
            section.refuse(&["as"], why);
            let encoding = section.read("encode", |field| field.choice::<Encoding>());
            (Some(Digest::None), encoding)
        } else {
            let encoding = match section.field("as") {
                Some(field) => field.choice(),
                None => Some(Encoding::Hex),
            };
            (self.digest(section), encoding)
        };
        if digest.is_some() && !section.has("hmac") {
            section.refuse(&["key"], "is for hmac; remove it");
        }
        if !section.has("of") {
            section.problem("does not say of what; write of = \"{seq}\"");
        }
        let of = section.read("of", |field| self.template(&field));
        Some(Composition {
            digest: digest?,
            of: of?,
            encoding: encoding?,
        })
    }

    fn digest(&self, section: &PlanSection<'a>) -> Option<Digest> {
        if section.has("digest") {
            return section.read("digest", hash).map(Digest::Hash);
        }
        let hash = section.read("hmac", hash);
        if !section.has("key") {
            section
                .problem("has no key; write key = \"{key}\", and key = \"env:NAME\" below [vars]");
        }
        let key = section.read("key", |field| self.template(&field))?;
        if key.pieces.is_empty() {
            section.problem_at("key", "is empty; write a key");
            return None;
        }
        if key
            .pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Literal(_)))
        {
            section.context.note(format!(
                "{}.key is saved with the plan; a key from the environment is not: write \
                 \"{{key}}\" here, and key = \"env:NAME\" below [vars]",
                section.path
            ));
        }
        Some(Digest::Hmac { hash: hash?, key })
    }

    fn template(&self, field: &Field<'_>) -> Option<Template> {
        let text = field.template_text("a text such as \"{seq}\"")?;
        field.reveal(text)?;
        let names = PlanNames {
            made: self.made,
            ..field.context.names()
        };
        Some(template_with(field, text, &names))
    }

    /// Reports a made value in a text that stays as it is.
    fn refuse_names(&self, field: &Field<'_>) -> Option<()> {
        let NodeValue::Text(text) = &field.node.value else {
            return Some(());
        };
        match names_in(text).find(|name| self.names.contains(&without_raw(name).0)) {
            None => Some(()),
            Some(name) => {
                field.problem(format_args!(
                    "has the made value {{{name}}}, which can stand in of and key here"
                ));
                None
            }
        }
    }
}

fn counter(section: &PlanSection<'_>) -> Option<Generator> {
    let whole = |key| {
        section.field(key).map(|field| match field.node.value {
            NodeValue::Whole(number) => Some(number),
            _ => {
                field.wrong_type("a whole number", "a number such as 1000, without quotes");
                None
            }
        })
    };
    let (first, step) = (whole("counter").flatten(), whole("step").unwrap_or(Some(1)));
    if step == Some(0) {
        section.problem_at("step", "0 counts nothing; write another number");
        return None;
    }
    Some(Generator::Counter {
        first: first?,
        step: step?,
    })
}

fn hash(field: Field<'_>) -> Option<HashFunction> {
    if let NodeValue::Text(text) = &field.node.value
        && text.eq_ignore_ascii_case("md5")
    {
        field.refuse("is not built in; write \"sha1\", \"sha256\", \"sha384\" or \"sha512\"");
        return None;
    }
    field.choice()
}

/// Reports names that variables have too.
pub(crate) fn check_names(
    table: &Table,
    is_variable: impl Fn(&str) -> bool,
    context: &Context<'_>,
) {
    let Some(NodeValue::Table(values)) = table.get(SECTION).map(|entry| &entry.node.value) else {
        return;
    };
    for (name, entry) in values {
        if is_variable(name) {
            let path = format!("{SECTION}.{name}");
            let message = "is the name of a variable too; give one of them another name";
            context.problem(&path, Some(entry.at), message.to_owned());
        }
    }
}

/// Notes values that no request has.
pub(crate) fn note_unused(context: &Context<'_>, requests: &[Request]) {
    for value in context.made() {
        let mut pieces = requests.iter().flat_map(Request::all_pieces);
        let is_it = |piece: &Piece| matches!(piece, Piece::Made(made) if made.value == *value);
        if !pieces.any(is_it) {
            context.note(format!(
                "let.{}: no request has {{{}}}",
                value.name, value.name
            ));
        }
    }
}
