//! Names in minted certificates, in the syntax of RFC 4514: `CN=user-{user},O=Example`.

use std::fmt;
use std::str::FromStr;

/// X.520's limit for these attributes.
const MAX_CHARACTERS: usize = 64;
/// Most digits of a number.
const DIGITS: usize = 6;
/// Placeholder for the identity's number, from 0, which is that of its first virtual user.
const USER: &str = "{user}";

/// A distinguished name with a placeholder for a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject(Vec<(SubjectAttribute, String)>);

/// The attribute of a part of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectAttribute {
    /// `CN`, common name.
    CommonName,
    /// `O`, organization.
    Organization,
    /// `OU`, organizational unit.
    OrganizationalUnit,
    /// `L`, locality.
    Locality,
    /// `ST`, state or province.
    State,
    /// `C`, country: two letters.
    Country,
}

/// Why a text is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// A part is not `KEY=VALUE`, or its key is unknown.
    #[error(
        "has the part {0:?}, which is not an attribute; write CN=…, O=…, OU=…, L=…, ST=… or C=…, \
         separated by commas, such as \"CN=user-{{user}},O=Example\""
    )]
    Attribute(String),
    /// An attribute occurs twice.
    #[error("has {0} twice; write it once")]
    Twice(&'static str),
    /// A value is empty, too long, or has characters that names cannot have.
    #[error(
        "has a value for {0} that does not fit; write 1 to {MAX_CHARACTERS} printable characters \
         without \\ and \" (two letters for C)"
    )]
    Value(&'static str),
}

const NAMES: [(SubjectAttribute, &str); 6] = [
    (SubjectAttribute::CommonName, "CN"),
    (SubjectAttribute::Organization, "O"),
    (SubjectAttribute::OrganizationalUnit, "OU"),
    (SubjectAttribute::Locality, "L"),
    (SubjectAttribute::State, "ST"),
    (SubjectAttribute::Country, "C"),
];

impl Subject {
    /// The attributes of identity `number`, in the order of the text, which is the reverse of that
    /// in a certificate (RFC 4514 §2.1).
    pub fn attributes(
        &self,
        number: u32,
    ) -> impl Iterator<Item = (SubjectAttribute, String)> + use<'_> {
        self.0
            .iter()
            .map(move |(attribute, value)| (*attribute, value.replace(USER, &number.to_string())))
    }
}

impl Default for Subject {
    /// A common name with the identity's number: `CN=user-{user}`.
    fn default() -> Subject {
        Subject(vec![(SubjectAttribute::CommonName, format!("user-{USER}"))])
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Subject, SubjectError> {
        let mut attributes: Vec<(SubjectAttribute, String)> = Vec::new();
        for part in text.split(',') {
            let unknown = || SubjectError::Attribute(part.trim().to_owned());
            let (key, value) = part.split_once('=').ok_or_else(unknown)?;
            let key = key.trim();
            let value = value.trim();
            let known = NAMES
                .iter()
                .find(|(_, name)| name.eq_ignore_ascii_case(key));
            let &(attribute, name) = known.ok_or_else(unknown)?;
            if attributes.iter().any(|(given, _)| *given == attribute) {
                return Err(SubjectError::Twice(name));
            }
            if !fits(attribute, value) {
                return Err(SubjectError::Value(name));
            }
            attributes.push((attribute, value.to_owned()));
        }
        Ok(Subject(attributes))
    }
}

fn fits(attribute: SubjectAttribute, value: &str) -> bool {
    if attribute == SubjectAttribute::Country {
        return value.len() == 2 && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    }
    // Checked with the largest number in its place, since minting must not fail later.
    let longest = value.replace(USER, &"9".repeat(DIGITS)).chars().count();
    // Backslash and quote would need the escapes of RFC 4514 §2.4, which we do not write.
    let is_wrong = |c: char| c.is_control() || c == '\\' || c == '"';
    (1..=MAX_CHARACTERS).contains(&longest) && !value.contains(is_wrong)
}

impl fmt::Display for Subject {
    /// The subject as the plan writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (attribute, value)) in self.0.iter().enumerate() {
            let name = NAMES
                .iter()
                .find(|(named, _)| named == attribute)
                .map_or("", |(_, name)| name);
            write!(f, "{}{name}={value}", if index > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, SubjectAttribute, SubjectError};

    #[test]
    fn a_subject_is_written_as_it_is_read_and_has_the_number_in_it() {
        let subject: Subject = " cn = user-{user}-of-{user}, O=Example Ltd,C=de"
            .parse()
            .unwrap();
        assert_eq!(
            subject.to_string(),
            "CN=user-{user}-of-{user},O=Example Ltd,C=de"
        );
        assert_eq!(
            subject.to_string().parse::<Subject>().as_ref(),
            Ok(&subject)
        );
        let expected = [("user-17-of-17"), ("Example Ltd"), ("de")];
        assert!(subject.attributes(17).map(|(_, value)| value).eq(expected));
        assert_eq!(
            Subject::default().attributes(3).collect::<Vec<_>>(),
            [(SubjectAttribute::CommonName, "user-3".to_owned())]
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = format!("CN={}", "x".repeat(65));
        for (text, error) in [
            ("user-{user}", SubjectError::Attribute("user-{user}".into())),
            ("CN=a,,O=b", SubjectError::Attribute(String::new())),
            ("UID=a", SubjectError::Attribute("UID=a".into())),
            ("CN=a,CN=b", SubjectError::Twice("CN")),
            ("CN=", SubjectError::Value("CN")),
            ("C=Germany", SubjectError::Value("C")),
            ("CN=a\u{7}", SubjectError::Value("CN")),
            (&long, SubjectError::Value("CN")),
        ] {
            assert_eq!(text.parse::<Subject>(), Err(error), "{text}");
        }
    }
}
