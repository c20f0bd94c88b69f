//! Header fields that a collector asks for, from the environment. Their values are secrets.

use anyhow::{Context as _, bail};
use hyper::header::{HeaderName, HeaderValue};
use secret::Secret;

/// Variables that OpenTelemetry's SDKs read; the first that is set counts.
const VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

/// Header fields of each push.
#[derive(Debug, Default)]
pub(super) struct OtlpHeaders(Vec<(HeaderName, Secret<String>)>);

impl OtlpHeaders {
    /// Reads the header fields from the environment.
    ///
    /// # Errors
    /// The variable does not hold a list of header fields.
    pub(super) fn from_environment() -> anyhow::Result<OtlpHeaders> {
        let set = |name| Some((name, Secret::new(std::env::var(name).ok()?)));
        match VARIABLES.into_iter().find_map(set) {
            Some((name, text)) => OtlpHeaders::new(text.reveal()).context(name),
            None => Ok(OtlpHeaders::default()),
        }
    }

    /// Reads `name=value,name=value`; values can have bytes as `%20`.
    fn new(text: &str) -> anyhow::Result<OtlpHeaders> {
        let fields = text.split(',').enumerate();
        let fields = fields.filter(|(_, field)| !field.trim().is_empty());
        let field = |(index, field): (usize, &str)| {
            let number = index + 1;
            let Some((name, value)) = field.split_once('=') else {
                bail!("field {number} has no =; write name=value,name=value");
            };
            let name: HeaderName = name
                .trim()
                .parse()
                .with_context(|| format!("field {number} has no name that HTTP knows"))?;
            let value = Secret::new(decode(value.trim()));
            // From now on it is certain that it can be sent.
            HeaderValue::from_str(value.reveal())
                .with_context(|| format!("{name}: a value that HTTP cannot carry"))?;
            Ok((name, value))
        };
        Ok(OtlpHeaders(
            fields.map(field).collect::<anyhow::Result<_>>()?,
        ))
    }

    /// Each field, with a value that no log shows.
    pub(super) fn fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.0.iter().filter_map(|(name, value)| {
            let mut value = HeaderValue::from_str(value.reveal()).ok()?;
            value.set_sensitive(true);
            Some((name.clone(), value))
        })
    }
}

/// Decodes bytes such as `%20`; a `%` that is followed by anything else stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        // The parser of numbers would take a sign.
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(encoded) => {
                decoded.push(encoded);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        let headers = OtlpHeaders::new(text).unwrap();
        let fields = headers.fields();
        let told = fields.map(|(name, value)| {
            assert!(value.is_sensitive());
            (name.to_string(), value.to_str().unwrap().to_owned())
        });
        told.collect()
    }

    #[test]
    fn headers_are_read_as_sdks_read_them() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            told("Authorization=Basic%20dXNlcg==, x-scope=a%zz%+f%,"),
            [
                field("authorization", "Basic dXNlcg=="),
                field("x-scope", "a%zz%+f%")
            ]
        );
        assert_eq!(told(""), []);
    }

    #[test]
    fn what_is_wrong_is_told_without_the_value() {
        for text in ["planted", "a b=planted", "a=planted%0a"] {
            let error = format!("{:#}", OtlpHeaders::new(text).unwrap_err());
            assert!(!error.contains("planted"), "{error}");
        }
        let headers = OtlpHeaders::new("authorization=planted").unwrap();
        assert!(!format!("{headers:?}").contains("planted"));
    }
}
