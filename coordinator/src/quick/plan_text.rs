//! The plan that the flags of `quick` mean, as the text a user would have written.

use super::urls::QuickUrls;
use super::{CONCURRENCY, QuickArgs, REQUESTS};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::{HttpVersion, Url, Verify, Words as _, quote};
use std::fmt::Write as _;
use std::path::Path;

/// Leaves room for a number in the name of a request, which has 100 characters at most.
const STEM_CHARS: usize = 80;

/// Returns the text, and what is wrong with flags in a way that no plan's text can show.
pub(super) fn write(args: &QuickArgs, urls: &QuickUrls) -> (String, Vec<String>) {
    let mut text = QuickPlanText {
        text: "name = \"quick\"\n".to_owned(),
        problems: Vec::new(),
    };
    text.target(args, urls);
    text.requests(args, urls);
    text.connection(args);
    text.tls(args);
    text.load(args);
    (text.text, text.problems)
}

struct QuickPlanText {
    text: String,
    problems: Vec<String>,
}

/// A header field with the flag that gave it.
struct Header {
    flag: &'static str,
    name: String,
    value: String,
}

impl QuickPlanText {
    fn target(&mut self, args: &QuickArgs, urls: &QuickUrls) {
        self.table("target");
        if let Some((first, _)) = urls.0.first() {
            self.field("url", &quote(first));
        }
        if !args.connect_to.is_empty() {
            self.field("addresses", &list(&args.connect_to));
        }
    }

    /// Writes one request for each URL. A single URL is the target's own, and one request.
    fn requests(&mut self, args: &QuickArgs, urls: &QuickUrls) {
        let headers = self.headers(args);
        let headers = self.fields_of(&headers);
        if urls.0.len() == 1 {
            self.table("request");
            return self.request(args, &headers);
        }
        let mut stems: Vec<String> = Vec::new();
        for (url, times) in &urls.0 {
            self.table("[request]");
            match url.parse::<Url>() {
                Ok(url) => {
                    stems.push(stem(&args.method, &url.path));
                    self.field("name", &quote(&name_of_last(&stems)));
                    self.field("path", &quote(&url.path));
                }
                Err(error) => self.problems.push(format!("URL: {url:?} {error}")),
            }
            self.field("weight", &times.to_string());
            self.request(args, &headers);
        }
    }

    fn request(&mut self, args: &QuickArgs, headers: &[String]) {
        self.field("method", &quote(&args.method));
        if !headers.is_empty() {
            self.field("headers", &format!("{{ {} }}", headers.join(", ")));
        }
        if let Some(body) = &args.body {
            self.field("body", &quote(body));
        }
        if let Some(file) = &args.body_file {
            self.field("body_file", &file_name(file));
        }
        if !args.expect.is_empty() {
            self.field("expect", &format!("{{ status = {} }}", list(&args.expect)));
        }
    }

    fn connection(&mut self, args: &QuickArgs) {
        self.table("connection");
        if args.no_keepalive {
            self.field("requests", "1");
        }
        if let Some(timeout) = &args.timeout {
            let timeout = quote(&with_unit(timeout, "s"));
            self.field(
                "timeouts",
                &format!("{{ connect = {timeout}, handshake = {timeout}, request = {timeout} }}"),
            );
        }
        if args.http2 {
            let http = HttpVersion::Http2 { streams: 1 };
            self.field("http", &quote(http.word()));
        }
        if let Some(streams) = args.streams {
            self.field("streams", &streams.to_string());
        }
    }

    fn tls(&mut self, args: &QuickArgs) {
        let mut fields = Vec::new();
        if args.insecure {
            fields.push(("verify", quote(Verify::None.word())));
        }
        fields.extend(args.ca.iter().map(|ca| ("ca", file_name(ca))));
        if let (Some(cert), Some(key)) = (&args.cert, &args.key) {
            fields.push((
                "client_certificates",
                format!(
                    "[{{ cert = {}, key = {} }}]",
                    file_name(cert),
                    file_name(key)
                ),
            ));
        }
        if !args.tls_version.is_empty() {
            fields.push(("versions", list(&args.tls_version)));
        }
        if let Some(text) = &args.resumption {
            match share(text) {
                Some(0.0) => fields.push(("resumption", quote("never"))),
                Some(share) => fields.push(("resumption", format!("{{ share = {share:?} }}"))),
                None => self.problems.push(format!(
                    "--resumption: {text:?} is not a share; write such as 0.5 or 50%"
                )),
            }
        }
        if !fields.is_empty() {
            self.table("tls");
            fields
                .iter()
                .for_each(|(key, value)| self.field(key, value));
        }
    }

    fn load(&mut self, args: &QuickArgs) {
        self.table("load");
        match (&args.rate, args.connections) {
            (Some(rate), connections) => {
                self.field("rate", &quote(&with_unit(rate, "/s")));
                if let Some(connections) = connections {
                    self.field("max_connections", &connections.to_string());
                }
            }
            (None, connections) => {
                let connections = self.concurrency(connections, args);
                self.field("connections", &connections.to_string());
            }
        }
        match &args.duration {
            Some(duration) => self.field("duration", &quote(&with_unit(duration, "s"))),
            None => self.field("requests", &args.requests.unwrap_or(REQUESTS).to_string()),
        }
    }

    /// The number of virtual users, never more than requests: ab and hey refuse that, and so does
    /// this if it was asked for.
    fn concurrency(&mut self, asked: Option<u32>, args: &QuickArgs) -> u32 {
        let requests = if args.duration.is_some() {
            u64::MAX
        } else {
            args.requests.unwrap_or(REQUESTS)
        };
        let useful = u32::try_from(requests).unwrap_or(u32::MAX);
        if let Some(asked) = asked.filter(|&asked| asked > useful) {
            self.problems.push(format!(
                "-c: {asked} is more than -n {requests}: the rest would have nothing to do; write \
                 -c {requests}, or leave it out"
            ));
        }
        asked.unwrap_or(CONCURRENCY).min(useful)
    }

    /// The header fields, those with flags of their own first.
    fn headers(&mut self, args: &QuickArgs) -> Vec<Header> {
        let own = [
            ("--host", "host", &args.host),
            ("-A", "accept", &args.accept),
            ("-T", "content-type", &args.content_type),
        ];
        let own = own
            .into_iter()
            .filter_map(|(flag, name, value)| Some((flag, name, value.clone()?)));
        let mut headers: Vec<Header> = own
            .chain(self.basic(args))
            .map(|(flag, name, value)| Header {
                flag,
                name: name.to_owned(),
                value,
            })
            .collect();
        for text in &args.headers {
            match text.split_once(':') {
                Some((name, value)) => {
                    headers.push(Header {
                        flag: "-H",
                        name: name.trim().to_owned(),
                        value: value.trim().to_owned(),
                    });
                }
                None => self.problems.push(format!(
                    "-H: {:?} has no colon; write it as \"name: value\"",
                    first_word(text)
                )),
            }
        }
        headers
    }

    /// Credentials as the header that carries them (Basic, RFC 7617).
    fn basic(&mut self, args: &QuickArgs) -> Option<(&'static str, &'static str, String)> {
        let credentials = args.auth.as_ref()?;
        if !credentials.contains(':') {
            self.problems
                .push("-a: has no colon; write it as USER:PASSWORD".to_owned());
        }
        Some((
            "-a",
            "authorization",
            format!("Basic {}", STANDARD.encode(credentials)),
        ))
    }

    /// Entries of the table of headers; fields with the same name are one entry, as a list.
    fn fields_of(&mut self, headers: &[Header]) -> Vec<String> {
        let mut fields: Vec<(&Header, Vec<&str>)> = Vec::new();
        for header in headers {
            match fields
                .iter_mut()
                .find(|(first, _)| first.name.eq_ignore_ascii_case(&header.name))
            {
                Some((first, _)) if first.flag != "-H" => self.problems.push(format!(
                    "{}: given beside -H {}; keep one of them",
                    first.flag, header.name
                )),
                Some((_, values)) => values.push(&header.value),
                None => fields.push((header, vec![&header.value])),
            }
        }
        fields
            .iter()
            .map(|(header, values)| QuickPlanText::entry(&header.name, values))
            .collect()
    }

    fn entry(name: &str, values: &[&str]) -> String {
        let value = match values {
            [value] => quote(value),
            values => list(values),
        };
        format!("{} = {value}", quote(name))
    }

    fn table(&mut self, name: &str) {
        let _ = writeln!(self.text, "\n[{name}]");
    }

    fn field(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{key} = {value}");
    }
}

/// A request's name without a number. The query is left out, since it may hold a secret.
fn stem(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    format!("{method} {path}")
        .chars()
        .take(STEM_CHARS)
        .collect()
}

/// The last name, with a number unless it is the first of its kind.
fn name_of_last(stems: &[String]) -> String {
    let last = stems.last().cloned().unwrap_or_default();
    match stems.iter().filter(|stem| **stem == last).count() {
        0 | 1 => last,
        nth => format!("{last} ({nth})"),
    }
}

/// The word that can be the name of a header field (RFC 9110 §5.6.2); what follows may be a secret.
fn first_word(text: &str) -> String {
    let text = text.trim_start();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match text.split_once(|c| !is_of_name(c)) {
        Some((word, _)) => format!("{word} …"),
        None => text.to_owned(),
    }
}

/// The absolute path, so that the saved plan can be run again from any folder.
fn file_name(file: &str) -> String {
    let path = std::path::absolute(file).ok();
    quote(path.as_deref().and_then(Path::to_str).unwrap_or(file))
}

/// Reads a part of one, or a percentage.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Adds the unit that other tools mean to a bare number.
fn with_unit(text: &str, unit: &str) -> String {
    let is_bare = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare {
        format!("{text}{unit}")
    } else {
        text.to_owned()
    }
}

fn list(items: &[impl AsRef<str>]) -> String {
    format!(
        "[{}]",
        items
            .iter()
            .map(|item| quote(item.as_ref()))
            .collect::<Vec<_>>()
            .join(", ")
    )
}
