//! Where a redirect leads: the `Location` field, resolved against the URL that was asked for (RFC
//! 9110 §10.2.2, RFC 3986 §5). Knows no connection.

use measure::RedirectFault;
use plan::Scheme;

/// Longest `Location` that is read.
pub(crate) const MAX_LOCATION: usize = 8 * 1024;

/// An origin that requests are sent to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownOrigin<'a> {
    pub(crate) scheme: Scheme,
    /// `host` or `host:port` as the URL has it, and as the field `Host` has it.
    pub(crate) authorities: [&'a [u8]; 2],
    /// Port of the connection.
    pub(crate) port: u16,
}

/// What a request was sent to, and where redirects may lead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedUrl<'a> {
    pub(crate) origins: &'a [KnownOrigin<'a>],
    /// Place of its own origin among these.
    pub(crate) origin: u16,
    /// Path and query.
    pub(crate) target: &'a [u8],
}

impl AskedUrl<'_> {
    /// Origin, and path and query, of the URL that `location` leads to.
    ///
    /// # Errors
    /// If it is no URL of HTTP, or one of an origin that is not known.
    pub(crate) fn follow(self, location: &[u8]) -> Result<(u16, Vec<u8>), RedirectFault> {
        if location.len() > MAX_LOCATION {
            return Err(RedirectFault::BadLocation);
        }
        let location = location.trim_ascii();
        // A fragment is for the user agent alone (RFC 9110 §10.2.2).
        let location = until(location, b"#");
        let (scheme, rest) = match split_scheme(location) {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, location),
        };
        let Some(after) = rest.strip_prefix(b"//") else {
            // A scheme without an authority is no URL of HTTP (RFC 9110 §4.2).
            return match scheme {
                Some(_) => Err(RedirectFault::BadLocation),
                None => Ok((self.origin, self.resolve(rest))),
            };
        };
        let authority = until(after, b"/?");
        let scheme = match scheme {
            None => self.own().map_or(Scheme::Http, |own| own.scheme),
            Some(name) if name.eq_ignore_ascii_case(b"http") => Scheme::Http,
            Some(name) if name.eq_ignore_ascii_case(b"https") => Scheme::Https,
            Some(_) => return Err(RedirectFault::BadLocation),
        };
        let origin = self.find_origin(scheme, authority)?;
        let path = &after[authority.len()..];
        let rooted = if path.starts_with(b"/") { path } else { b"/" };
        let query = &path[until(path, b"?").len()..];
        Ok((origin, whole(until(rooted, b"?"), query)))
    }

    /// Place of the origin with this scheme and authority: that of the request, if it is this one.
    fn find_origin(self, scheme: Scheme, authority: &[u8]) -> Result<u16, RedirectFault> {
        // User information is not sent on (RFC 9110 §4.2.4).
        let start = authority.iter().rposition(|&byte| byte == b'@');
        let authority = &authority[start.map_or(0, |at| at + 1)..];
        let (host, port) = split_port(authority).ok_or(RedirectFault::BadLocation)?;
        if host.is_empty() {
            return Err(RedirectFault::BadLocation);
        }
        let port = port.unwrap_or(scheme.default_port());
        let is_meant = |origin: &KnownOrigin<'_>| origin.is(scheme, host, port);
        if self.own().is_some_and(is_meant) {
            return Ok(self.origin);
        }
        let found = self.origins.iter().position(is_meant);
        let found = found.and_then(|place| u16::try_from(place).ok());
        found.ok_or(RedirectFault::OtherOrigin)
    }

    fn own(&self) -> Option<&KnownOrigin<'_>> {
        self.origins.get(usize::from(self.origin))
    }

    /// Resolves a reference without scheme and authority (RFC 3986 §5.2.2).
    fn resolve(self, reference: &[u8]) -> Vec<u8> {
        let path = until(reference, b"?");
        let query = &reference[path.len()..];
        // A request about the server as a whole (`*`) has no path.
        let base = match until(self.target, b"?") {
            base @ [b'/', ..] => base,
            _ => b"/",
        };
        match path {
            [] if query.is_empty() => self.target.to_vec(),
            [] => {
                let mut target = base.to_vec();
                put_encoded(query, &mut target);
                target
            }
            [b'/', ..] => whole(path, query),
            _ => {
                let folder = base.iter().rposition(|&byte| byte == b'/');
                let folder = folder.map_or(&b"/"[..], |at| &base[..=at]);
                whole(&[folder, path].concat(), query)
            }
        }
    }
}

impl KnownOrigin<'_> {
    fn is(&self, scheme: Scheme, host: &[u8], port: u16) -> bool {
        let has = |authority: &[u8]| {
            split_port(authority).is_some_and(|(name, given)| {
                // Servers name the port that they listen on, or the one of the field Host.
                let is_port = port == self.port || given == Some(port);
                let is_default = given.is_none() && port == scheme.default_port();
                name.eq_ignore_ascii_case(host) && (is_port || is_default)
            })
        };
        scheme == self.scheme && self.authorities.into_iter().any(has)
    }
}

/// The part of `bytes` before the first of the bytes `ends`.
fn until<'a>(bytes: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let end = bytes.iter().position(|byte| ends.contains(byte));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The scheme before a colon, if what stands there can be one (RFC 3986 §3.1).
fn split_scheme(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let name = until(text, b":/?");
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_scheme = name.first().is_some_and(u8::is_ascii_alphabetic);
    let rest = text[name.len()..].strip_prefix(b":")?;
    (is_scheme && name.iter().all(is_of_scheme)).then_some((name, rest))
}

/// Splits off a port; `None` if what stands there is none. An empty one is the default (RFC 3986
/// §6.2.3).
pub(crate) fn split_port(authority: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let host_end = match authority.iter().position(|&byte| byte == b']') {
        Some(bracket) => bracket + 1,
        None => until(authority, b":").len(),
    };
    let (host, rest) = authority.split_at(host_end);
    let digits = match rest.split_first() {
        None => return Some((host, None)),
        Some((b':', digits)) => digits,
        Some(_) => return None,
    };
    if digits.is_empty() {
        return Some((host, None));
    }
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    let port = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((host, Some(port)))
}

/// A path without dot segments (RFC 3986 §5.2.4), and its query. Bytes that cannot stand in a
/// request are percent-encoded.
fn whole(path: &[u8], query: &[u8]) -> Vec<u8> {
    let mut target: Vec<u8> = Vec::with_capacity(path.len() + query.len());
    let segments = path.strip_prefix(b"/").unwrap_or(path);
    let mut segments = segments.split(|&byte| byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let kept = match segment {
            b"." => is_last.then_some(&b""[..]),
            b".." => {
                let parent = target.iter().rposition(|&byte| byte == b'/');
                target.truncate(parent.unwrap_or(0));
                is_last.then_some(&b""[..])
            }
            segment => Some(segment),
        };
        if let Some(kept) = kept {
            target.push(b'/');
            put_encoded(kept, &mut target);
        }
    }
    put_encoded(query, &mut target);
    target
}

fn put_encoded(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            let digits = [byte >> 4, byte & 0xf].map(|digit| HEX[usize::from(digit)]);
            out.extend_from_slice(&[b'%', digits[0], digits[1]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: KnownOrigin<'_> = KnownOrigin {
        scheme: Scheme::Http,
        authorities: [b"a:8080", b"www.a.test"],
        port: 8080,
    };

    fn asked(target: &str) -> AskedUrl<'_> {
        AskedUrl {
            origins: &[OWN],
            origin: 0,
            target: target.as_bytes(),
        }
    }

    fn follow(location: &str) -> Result<String, RedirectFault> {
        let (origin, target) = asked("/b/c/d;p?q").follow(location.as_bytes())?;
        assert_eq!(origin, 0, "{location}");
        Ok(String::from_utf8(target).expect("ASCII"))
    }

    /// The examples of RFC 3986 §5.4 that stay at the origin, with a path as the result.
    #[test]
    fn references_are_resolved_as_the_standard_says() {
        for (reference, target) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q"),
            ("g#s", "/b/c/g"),
            ("g?y#s", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            ("", "/b/c/d;p?q"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"),
            ("g/../h", "/b/c/h"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/../x", "/b/c/g?y/../x"),
            ("g#s/../x", "/b/c/g"),
            ("/a b/ü?\tz", "/a%20b/%C3%BC?%09z"),
            ("?a b", "/b/c/d;p?a%20b"),
            ("/a//b", "/a//b"),
        ] {
            let target = target.to_owned();
            // What stands around the value is no part of it.
            assert_eq!(follow(&format!(" {reference} ")), Ok(target), "{reference}");
        }
    }

    #[test]
    fn absolute_locations_are_followed_within_the_origin_only() {
        let other = Err(RedirectFault::OtherOrigin);
        let bad = Err(RedirectFault::BadLocation);
        for (location, followed) in [
            ("http://a:8080/x?y=/z#f", Ok("/x?y=/z")),
            ("HTTP://A:8080", Ok("/")),
            ("http://a:8080?q", Ok("/?q")),
            ("//a:8080/../x", Ok("/x")),
            ("http://www.a.test/x", Ok("/x")),
            ("http://WWW.a.test:/x", Ok("/x")),
            ("http://www.a.test:8080/x", Ok("/x")),
            ("http://user:secret@a:8080/x", Ok("/x")),
            ("http://a:8081/", other),
            ("http://www.a.test:81/", other),
            ("https://a:8080/", other),
            ("//b/", other),
            ("http://a:8080@b/", other),
            ("http://a.test.evil/", other),
            ("http:///x", bad),
            ("http:x", bad),
            ("ftp://a:8080/", bad),
            ("javascript:alert(1)", bad),
            ("http://a:99999/", bad),
            ("http://a:+80/", bad),
            ("http://[::1]x/", bad),
        ] {
            assert_eq!(follow(location), followed.map(str::to_owned), "{location}");
        }
    }

    #[test]
    fn known_origins_are_told_apart_by_scheme_host_and_port() {
        let origin = |scheme, authority: &'static str, port| KnownOrigin {
            scheme,
            authorities: [authority.as_bytes(); 2],
            port,
        };
        let origins = [
            OWN,
            origin(Scheme::Https, "a", 443),
            origin(Scheme::Https, "login.test:8443", 8443),
            origin(Scheme::Http, "[::1]", 80),
        ];
        let other = Err(RedirectFault::OtherOrigin);
        for (from, location, led_to) in [
            (0, "https://a/x", Ok((1, "/x"))),
            (0, "https://A:443?q", Ok((1, "/?q"))),
            (0, "https://login.test:8443/x", Ok((2, "/x"))),
            (0, "http://[::1]:80/", Ok((3, "/"))),
            (0, "https://a:8080/", other),
            (0, "https://login.test/x", other),
            (0, "http://login.test:8443/x", other),
            (2, "x", Ok((2, "/b/x"))),
            (2, "//login.test:8443/y", Ok((2, "/y"))),
            (2, "//a/y", Ok((1, "/y"))),
            (2, "http://www.a.test/y", Ok((0, "/y"))),
            (1, "//a:8080/y", other),
        ] {
            let asked = AskedUrl {
                origins: &origins,
                origin: from,
                target: b"/b/c",
            };
            let led = asked.follow(location.as_bytes());
            let expected = led_to.map(|(origin, target)| (origin, target.as_bytes().to_vec()));
            assert_eq!(led, expected, "{from}: {location}");
        }
    }

    #[test]
    fn any_bytes_lead_to_a_path_or_nowhere() {
        let mut random = crate::random::Random::new(3, 4);
        for _ in 0..20_000 {
            let length = random.bits() % 24;
            let byte = |bits: u64| b"/.:?#@[]%a8\0 \xff\r\n"[(bits % 16) as usize];
            let location: Vec<u8> = (0..length).map(|_| byte(random.bits() >> 7)).collect();
            if let Ok((_, target)) = asked("*").follow(&location) {
                let is_sendable = target.iter().all(u8::is_ascii_graphic);
                let is_path = target.starts_with(b"/") || target.starts_with(b"*");
                assert!(is_path && is_sendable, "{location:?}: {target:?}");
            }
        }
    }
}
