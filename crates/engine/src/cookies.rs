//! The cookies of one journey (RFC 6265), whose requests may name different hosts.

use std::cmp::Reverse;
use std::time::{Duration, UNIX_EPOCH};

/// Most cookies of a journey, as many as RFC 6265 §6.1 asks for. Further ones are not kept.
const MAX_COOKIES: usize = 50;
/// Longest name and value together, in bytes (RFC 6265 §6.1).
const MAX_BYTES: usize = 4096;

/// Cookies in the order in which they were first set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CookieJar(Vec<Cookie>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// The host that set it, or the domain that it names; lower case.
    host: Vec<u8>,
    /// Whether it also goes to hosts below that.
    has_domain: bool,
    /// Whether it goes to any host, since the one that set it is not known.
    goes_anywhere: bool,
    is_secure: bool,
    /// Seconds since 1970; `None` if it lasts as long as the journey.
    expires_at: Option<u64>,
}

/// What a request asks for, as far as cookies depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CookieScope<'a> {
    /// Lower case, without a port.
    pub(crate) host: &'a str,
    /// Whether the field `host` has placeholders, so that `host` is only the target's.
    pub(crate) host_varies: bool,
    /// Path and query.
    pub(crate) target: &'a [u8],
    /// Whether it is sent over TLS.
    pub(crate) is_secure: bool,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

/// The attributes of a `set-cookie` (RFC 6265 §5.2).
#[derive(Default)]
struct Attributes<'f> {
    path: Option<&'f [u8]>,
    domain: Option<&'f [u8]>,
    expires: Option<u64>,
    max_age: Option<i64>,
    is_secure: bool,
}

impl CookieJar {
    /// Keeps, replaces or removes a cookie as the value of a field `set-cookie` says, which came
    /// with the answer to a request of this scope (RFC 6265 §5.3). What it does not accept is
    /// ignored.
    pub(crate) fn set(&mut self, field: &[u8], scope: CookieScope<'_>) {
        let mut parts = field.split(|&byte| byte == b';');
        let Some((name, value)) = parts.next().and_then(pair) else {
            return;
        };
        let attributes = Attributes::read(parts);
        let is_fit = |text: &[u8]| text.iter().all(|byte| !byte.is_ascii_control());
        if name.is_empty()
            || name.len() + value.len() > MAX_BYTES
            || !is_fit(name)
            || !is_fit(value)
        {
            return;
        }
        if !attributes.accepts(scope) {
            return;
        }
        let path = match attributes.path {
            Some(path) if path.starts_with(b"/") => path,
            _ => default_path(scope.target),
        };
        let domain = attributes.domain;
        let domain = domain.map(|domain| domain.strip_prefix(b".").unwrap_or(domain));
        let cookie = Cookie {
            name: name.to_vec(),
            value: value.to_vec(),
            path: path.to_vec(),
            host: domain.unwrap_or(scope.host.as_bytes()).to_ascii_lowercase(),
            has_domain: domain.is_some(),
            goes_anywhere: scope.host_varies,
            is_secure: attributes.is_secure,
            expires_at: attributes.expires_at(scope.now),
        };
        self.keep(cookie, scope.now);
    }

    fn keep(&mut self, cookie: Cookie, now: u64) {
        let is_same = |other: &Cookie| {
            (&other.name, &other.host, &other.path) == (&cookie.name, &cookie.host, &cookie.path)
        };
        let place = self.0.iter().position(is_same);
        match (place, cookie.is_over(now)) {
            (Some(place), true) => drop(self.0.remove(place)),
            (Some(place), false) => self.0[place] = cookie,
            (None, true) => {}
            (None, false) => {
                self.0.retain(|other| !other.is_over(now));
                if self.0.len() < MAX_COOKIES {
                    self.0.push(cookie);
                }
            }
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the value of the field `cookie` for a request of this scope, longest paths first
    /// (RFC 6265 §5.4). Returns whether there is any cookie for it.
    pub(crate) fn put(&self, scope: CookieScope<'_>, out: &mut Vec<u8>) -> bool {
        let path = path_of(scope.target);
        let fits = |cookie: &&Cookie| {
            (scope.is_secure || !cookie.is_secure)
                && !cookie.is_over(scope.now)
                && cookie.is_for(scope)
                && matches_path(path, &cookie.path)
        };
        let mut cookies: Vec<&Cookie> = self.0.iter().filter(fits).collect();
        // Stable, so that older ones come first among those of equally long paths.
        cookies.sort_by_key(|cookie| Reverse(cookie.path.len()));
        for (place, cookie) in cookies.iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        !cookies.is_empty()
    }
}

impl Cookie {
    /// Whether it goes to the host (RFC 6265 §5.4).
    fn is_for(&self, scope: CookieScope<'_>) -> bool {
        let rest = scope.host.as_bytes().strip_suffix(self.host.as_slice());
        let is_host =
            rest.is_some_and(|rest| rest.is_empty() || (self.has_domain && rest.ends_with(b".")));
        is_host || self.goes_anywhere || scope.host_varies
    }

    fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

impl<'f> Attributes<'f> {
    /// The last of several attributes of one name counts.
    fn read(parts: impl Iterator<Item = &'f [u8]>) -> Attributes<'f> {
        let mut read = Attributes::default();
        for part in parts {
            let (name, value) = pair(part).unwrap_or((part.trim_ascii(), b""));
            let is_named = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            if is_named("path") {
                read.path = Some(value);
            } else if is_named("domain") {
                read.domain = Some(value).filter(|domain| !domain.is_empty());
            } else if is_named("secure") {
                read.is_secure = true;
            } else if is_named("max-age") {
                read.max_age = std::str::from_utf8(value)
                    .ok()
                    .and_then(|age| age.parse().ok());
            } else if is_named("expires") {
                read.expires = date(value);
            }
        }
        read
    }

    /// Whether the host may set a cookie with these attributes.
    fn accepts(&self, scope: CookieScope<'_>) -> bool {
        let of_domain = self.domain.is_none_or(|domain| {
            let domain = domain.strip_prefix(b".").unwrap_or(domain);
            let domain = domain.to_ascii_lowercase();
            let rest = scope.host.as_bytes().strip_suffix(domain.as_slice());
            // The addresses of hosts are not parts of one another.
            let is_address = scope.host.parse::<std::net::IpAddr>().is_ok();
            rest.is_some_and(|rest| rest.is_empty() || (rest.ends_with(b".") && !is_address))
        });
        (of_domain || scope.host_varies) && (scope.is_secure || !self.is_secure)
    }

    /// When the cookie ends: `max-age` comes before `expires`.
    fn expires_at(&self, now: u64) -> Option<u64> {
        match self.max_age {
            Some(age) => Some(now.saturating_add_signed(age.max(-(now as i64)))),
            None => self.expires,
        }
    }
}

/// Name and value around the first `=`.
fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = part.iter().position(|&byte| byte == b'=')?;
    Some((part[..equals].trim_ascii(), part[equals + 1..].trim_ascii()))
}

/// Reads a date, in seconds since 1970. Older servers write hyphens between its parts.
fn date(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.replace('-', " ");
    let date = httpdate::parse_http_date(&text).ok()?;
    let since = date.duration_since(UNIX_EPOCH);
    Some(since.unwrap_or(Duration::ZERO).as_secs())
}

/// The path without the query.
fn path_of(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?');
    &target[..end.unwrap_or(target.len())]
}

/// The path of a cookie that does not name one (RFC 6265 §5.1.4).
fn default_path(target: &[u8]) -> &[u8] {
    let path = path_of(target);
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(last) if last > 0 && path.starts_with(b"/") => &path[..last],
        _ => b"/",
    }
}

/// Whether a cookie's path is that of a request or above it (RFC 6265 §5.1.4).
fn matches_path(path: &[u8], of_cookie: &[u8]) -> bool {
    match path.strip_prefix(of_cookie) {
        Some(rest) => rest.is_empty() || of_cookie.ends_with(b"/") || rest.starts_with(b"/"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn scope(target: &str) -> CookieScope<'_> {
        CookieScope {
            host: "www.shop.test",
            host_varies: false,
            target: target.as_bytes(),
            is_secure: false,
            now: NOW,
        }
    }

    /// The cookies sent to `target` after an answer from `/a/b?c` that set these.
    fn sent(set: &[&str], target: &str) -> String {
        let mut jar = CookieJar::default();
        for field in set {
            jar.set(field.as_bytes(), scope("/a/b?c=/d/"));
        }
        let mut line = Vec::new();
        let is_any = jar.put(scope(target), &mut line);
        assert_eq!(is_any, !line.is_empty());
        String::from_utf8(line).expect("a text")
    }

    #[test]
    fn paths_say_where_cookies_go() {
        let set = [
            "root=1; Path=/",
            "own=2",
            "deep=3; path=/a/b/",
            "other=4; Path=/x",
            "odd=5; Path=a",
        ];
        for (target, line) in [
            ("/", "root=1"),
            ("/a", "own=2; odd=5; root=1"),
            ("/ab", "root=1"),
            ("/a/b", "own=2; odd=5; root=1"),
            ("/a/b/c?/x", "deep=3; own=2; odd=5; root=1"),
            ("/x/y", "other=4; root=1"),
        ] {
            assert_eq!(sent(&set, target), line, "{target}");
        }
    }

    #[test]
    fn attributes_are_obeyed() {
        for (field, is_sent) in [
            ("a=b", true),
            (" a = b ; HttpOnly; SameSite=Lax", true),
            ("a=b; Secure", false),
            ("a=b; Domain=shop.test", true),
            ("a=b; Domain=.SHOP.test", true),
            ("a=b; Domain=op.test", false),
            ("a=b; Domain=other.test", false),
            ("a=b; Domain=", true),
            ("a=b; Max-Age=1", true),
            ("a=b; Max-Age=0", false),
            (
                "a=b; Max-Age=-5; Expires=Wed, 21 Oct 2037 07:28:00 GMT",
                false,
            ),
            (
                "a=b; Max-Age=x; Expires=Wed, 21 Oct 2037 07:28:00 GMT",
                true,
            ),
            ("a=b; Expires=Thu, 01-Jan-1970 00:00:01 GMT", false),
            ("a=b; Expires=some day", true),
            ("=b", false),
            ("a", false),
        ] {
            let line = sent(&[field], "/a");
            assert_eq!(line == "a=b", is_sent, "{field}: {line:?}");
        }
    }

    #[test]
    fn hosts_have_cookies_of_their_own() {
        let at = |host| CookieScope { host, ..scope("/") };
        let mut jar = CookieJar::default();
        jar.set(b"s=1; Path=/", at("login.shop.test"));
        jar.set(b"s=2; Path=/", at("www.shop.test"));
        jar.set(b"all=3; Path=/; Domain=shop.test", at("www.shop.test"));
        for (host, expected) in [
            ("login.shop.test", "s=1; all=3"),
            ("www.shop.test", "s=2; all=3"),
            ("other.test", ""),
        ] {
            let mut line = Vec::new();
            jar.put(at(host), &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), expected, "{host}");
        }
        // Nothing is known of a host with placeholders.
        let unknown = CookieScope {
            host_varies: true,
            ..at("other.test")
        };
        let mut line = Vec::new();
        jar.put(unknown, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "s=1; s=2; all=3");
        jar.set(b"any=4; Path=/", unknown);
        let mut line = Vec::new();
        jar.put(at("www.shop.test"), &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "s=2; all=3; any=4");
        jar.set(b"far=5; Path=/; Domain=a.shop.test", unknown);
        let mut line = Vec::new();
        jar.put(unknown, &mut line);
        assert!(String::from_utf8(line).unwrap().ends_with("far=5"));
    }

    #[test]
    fn cookies_are_replaced_removed_and_limited() {
        assert_eq!(sent(&["a=1", "b=2", "a=3"], "/a"), "a=3; b=2");
        assert_eq!(sent(&["a=1", "b=2", "a=; Max-Age=0"], "/a"), "b=2");
        let many: Vec<String> = (0..60).map(|number| format!("c{number}=x")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(sent(&many, "/a").split("; ").count(), MAX_COOKIES);
        assert_eq!(sent(&[&format!("a={}", "x".repeat(MAX_BYTES))], "/a"), "");
    }
}
