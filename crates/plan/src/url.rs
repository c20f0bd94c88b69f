//! Reads and writes URLs, hosts and addresses. Anything that a load test cannot use is refused with
//! a reason.

use crate::{Address, Host, Scheme, Url, Words as _};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

const IN_BRACKETS: &str = "write an IPv6 address in brackets, such as \"[2001:db8::1]\"";

/// Why a text is not a usable URL or address, and what to write instead. The message continues a
/// sentence that starts with the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// A URL without `scheme://`.
    #[error("has no scheme; write \"https://{0}\"")]
    NoScheme(String),
    /// The scheme is neither http nor https.
    #[error("has the scheme {0:?}; only http and https can be used")]
    Scheme(String),
    /// A character that URLs cannot contain.
    #[error("holds {0:?}, which cannot stand in a URL; write it percent-encoded ({1})")]
    Character(char, String),
    /// User information, `user:password@`.
    #[error(
        "holds user information before the \"@\"; remove it and send a header instead, such as \
         authorization = \"Basic …\" in request.headers"
    )]
    UserInfo,
    /// A fragment, `#…`.
    #[error("has a fragment, which is never sent to a server; remove {0:?}")]
    Fragment(String),
    /// The host is missing.
    #[error("has no host; write one such as \"https://edge.test/\"")]
    NoHost,
    /// The host is neither a DNS name nor an IP address.
    #[error("has a host {0:?} that is neither a DNS name nor an IP address; {1}")]
    Host(String, &'static str),
    /// The port is not a port number.
    #[error("has a port {0:?}; write a number from 1 to 65535, or leave it out with its colon")]
    Port(String),
    /// The text is not an address.
    #[error(
        "is not an address; write one such as \"10.0.0.11\", \"10.0.0.11:8443\", \"2001:db8::1\" \
         or \"[2001:db8::1]:8443\""
    )]
    Address,
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        // Messages of other errors quote parts of the text, which could show a password.
        let hide = |error| {
            if may_hold_user_info(text) {
                UrlError::UserInfo
            } else {
                error
            }
        };
        Url::read(text).map_err(hide)
    }
}

impl Url {
    fn read(text: &str) -> Result<Url, UrlError> {
        if let Some(character) = text.chars().find(|&c| !c.is_ascii_graphic()) {
            return Err(UrlError::Character(character, percent_encoded(character)));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| UrlError::NoScheme(text.to_owned()))?;
        let scheme = scheme.parse()?;
        if let Some((_, fragment)) = rest.split_once('#') {
            return Err(UrlError::Fragment(format!("#{fragment}")));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = authority_of(authority)?;
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Url {
            scheme,
            host,
            port: port.unwrap_or(scheme.default_port()),
            path,
        })
    }
}

impl FromStr for Scheme {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Scheme, UrlError> {
        Scheme::from_word(&text.to_ascii_lowercase())
            .ok_or_else(|| UrlError::Scheme(text.to_owned()))
    }
}

impl FromStr for Host {
    type Err = UrlError;

    /// Accepts a DNS name, an IPv4 address, or an IPv6 address with or without brackets.
    fn from_str(text: &str) -> Result<Host, UrlError> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(text);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Ok(Host::Ip(ip));
        }
        match fault_of_name(text) {
            Some(cure) => Err(UrlError::Host(text.to_owned(), cure)),
            None => Ok(Host::Name(text.to_ascii_lowercase())),
        }
    }
}

impl FromStr for Address {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Address, UrlError> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(ip) = bare.and_then(|inner| inner.parse::<Ipv6Addr>().ok()) {
            return Ok(Address {
                ip: ip.into(),
                port: None,
            });
        }
        if let Ok(ip) = text.parse() {
            return Ok(Address { ip, port: None });
        }
        match text.parse::<SocketAddr>() {
            Ok(socket) if socket.port() > 0 => Ok(Address {
                ip: socket.ip(),
                port: Some(socket.port()),
            }),
            _ => Err(UrlError::Address),
        }
    }
}

impl Url {
    /// `host[:port]`; the port only if it is not the scheme's default (RFC 9110 §7.2).
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl Scheme {
    /// The port of a URL without one.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Whether the text has an "@" and an invalid authority: a password can contain characters that
/// should have been percent-encoded.
fn may_hold_user_info(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    text.contains('@') && authority_of(authority).is_err()
}

fn authority_of(authority: &str) -> Result<(Host, Option<u16>), UrlError> {
    if authority.contains('@') {
        return Err(UrlError::UserInfo);
    }
    if !authority.starts_with('[') && authority.matches(':').count() > 1 {
        return Err(UrlError::Host(authority.to_owned(), IN_BRACKETS));
    }
    let host_ends = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match authority[host_ends..].find(':') {
        Some(colon) => (
            &authority[..host_ends + colon],
            Some(&authority[host_ends + colon + 1..]),
        ),
        None => (authority, None),
    };
    if host.is_empty() {
        return Err(UrlError::NoHost);
    }
    Ok((host.parse()?, port.map(port_of).transpose()?))
}

fn port_of(text: &str) -> Result<u16, UrlError> {
    let number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten();
    number
        .filter(|&port| port > 0)
        .ok_or_else(|| UrlError::Port(text.to_owned()))
}

/// How to correct a DNS name (RFC 1123 §2.1, plus the underscore that is common in practice);
/// `None` if it is valid.
fn fault_of_name(name: &str) -> Option<&'static str> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.ends_with('.') {
        return Some("write it without the final dot");
    }
    if name.contains(':') {
        return Some(IN_BRACKETS);
    }
    if !name.is_ascii() {
        return Some("write an international name in its ASCII form, \"xn--…\"");
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("an IPv4 address has four numbers from 0 to 255");
    }
    let is_name = name.len() <= 253 && name.split('.').all(is_label);
    (!is_name).then_some("use letters, digits and hyphens, with dots between")
}

fn percent_encoded(character: char) -> String {
    character
        .encode_utf8(&mut [0; 4])
        .bytes()
        .map(|byte| format!("%{byte:02X}"))
        .collect()
}

impl fmt::Display for Url {
    /// The URL, without a port that is its scheme's default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Host {
    /// The form in URLs: IPv6 addresses in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}", SocketAddr::new(self.ip, port)),
            None => write!(f, "{}", self.ip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Url};

    #[test]
    fn urls_are_read_with_their_defaults() {
        let cases = [
            ("https://edge.test", "https://edge.test/"),
            (
                "HTTPS://Edge.Test:443/A?b=%20c",
                "https://edge.test/A?b=%20c",
            ),
            ("http://edge.test:80", "http://edge.test/"),
            ("http://edge.test:8080?q", "http://edge.test:8080/?q"),
            ("https://10.0.0.1:8443/x", "https://10.0.0.1:8443/x"),
            ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
            ("https://[::1]:4433/", "https://[::1]:4433/"),
            ("http://under_score.test/", "http://under_score.test/"),
        ];
        for (text, shown) in cases {
            let url: Url = text
                .parse()
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(url.to_string(), shown);
            assert_eq!(shown.parse(), Ok(url));
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        let cases = [
            ("edge.test/x", "write \"https://edge.test/x\""),
            ("ftp://edge.test/", "only http and https"),
            ("https://u:p@edge.test/", "user information"),
            ("https://edge.test/#top", "remove \"#top\""),
            ("https://edge.test/a b", "%20"),
            ("https://edge.test/ä", "%C3%A4"),
            ("https://edge.test/\r\nx: y", "%0D"),
            ("https:///x", "no host"),
            ("https://edge.test:0/", "from 1 to 65535"),
            ("https://edge.test:/", "from 1 to 65535"),
            ("https://edge.test:65536/", "from 1 to 65535"),
            ("https://edge.test:+80/", "from 1 to 65535"),
            ("https://2001:db8::1/", "in brackets"),
            ("https://[2001:db8::g]/", "in brackets"),
            ("https://10.0.0.256/", "four numbers"),
            ("https://edge.test./", "final dot"),
            ("https://-edge.test/", "letters, digits and hyphens"),
            ("https://edge..test/", "letters, digits and hyphens"),
        ];
        for (text, why) in cases {
            let message = text.parse::<Url>().unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn addresses_have_a_port_or_none() {
        for (text, shown) in [
            ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        for text in ["edge.test", "10.0.0.1:0", "10.0.0.1:", "", "[10.0.0.1]"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
