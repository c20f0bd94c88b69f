//! The dashboard: the report page of the run under way, and the news that there is another version
//! of it. Off loopback, only those who know its path can see it.

use super::LatestRun;
use super::live_page::LivePages;
use super::port::{Answer, Route, text};
use super::version_stream::VersionStream;
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::{Either, Full};
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use hyper::{Request, Response, StatusCode};
use secret::Secret;
use std::net::IpAddr;
use subtle::ConstantTimeEq as _;

const PAGE_TYPE: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const EVENTS_TYPE: HeaderValue = HeaderValue::from_static("text/event-stream");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// Length of a token that cannot be guessed.
const TOKEN_BYTES: usize = 16;

/// The dashboard of a run.
#[derive(Debug)]
pub(crate) struct Dashboard {
    /// Begins and ends with a slash; off loopback it contains a token.
    path: Secret<String>,
    latest: LatestRun,
    pages: LivePages,
}

impl Dashboard {
    /// The dashboard at this address.
    ///
    /// # Errors
    /// There are no random bytes for its path.
    pub(crate) fn new(address: IpAddr, latest: LatestRun) -> anyhow::Result<Dashboard> {
        let is_on_loopback = address.to_canonical().is_loopback();
        let path = if is_on_loopback {
            "/".to_owned()
        } else {
            let token = secret::random::<TOKEN_BYTES>();
            let token = token.context("cannot make a path for --dashboard that nobody guesses")?;
            format!("/{}/", URL_SAFE_NO_PAD.encode(token))
        };
        Ok(Dashboard {
            path: path.into(),
            pages: LivePages::new(latest.clone()),
            latest,
        })
    }

    /// The dashboard's URL at an address of this machine; anyone who knows it can see the run.
    pub(crate) fn url(&self, address: &str) -> String {
        format!("http://{address}{}", self.path.reveal())
    }

    /// The part of a path after the dashboard's own.
    fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        let own = self.path.reveal();
        let (begin, rest) = path.split_at_checked(own.len())?;
        // In constant time, so that the path cannot be guessed byte by byte.
        let is_ours: bool = begin.as_bytes().ct_eq(own.as_bytes()).into();
        is_ours.then_some(rest)
    }

    async fn page(&self, headers: &HeaderMap) -> Answer {
        let page = match self.pages.newest().await {
            Ok(page) => page,
            Err(error) => return text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        };
        let takes_gzip = takes_gzip(headers);
        let bytes = if takes_gzip { &page.gzip } else { &page.plain };
        let mut answer = Response::new(Either::Left(Full::new(bytes.clone())));
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, PAGE_TYPE);
        headers.insert(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
        if takes_gzip {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        answer
    }

    fn events(&self) -> Answer {
        let Some(follower) = self.latest.follow() else {
            return text(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many look; try again\n",
            );
        };
        let mut answer = Response::new(Either::Right(VersionStream::new(follower)));
        answer.headers_mut().insert(CONTENT_TYPE, EVENTS_TYPE);
        answer
    }
}

impl Route for Dashboard {
    async fn answer<B: Send>(&self, request: Request<B>) -> Answer {
        match self.inside(request.uri().path()) {
            Some("") => self.page(request.headers()).await,
            Some("events") => self.events(),
            _ => text(StatusCode::NOT_FOUND, "nothing is here\n"),
        }
    }
}

/// Whether gzip is accepted (RFC 9110, 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter();
    let codings = lines.filter_map(|line| line.to_str().ok());
    codings.flat_map(|line| line.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse() != Ok(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        for taken in ["gzip", "gzip, deflate, br, zstd", "br;q=1, GZIP;q=0.5"] {
            assert!(takes_gzip(&with(ACCEPT_ENCODING, taken)), "{taken}");
        }
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.0", "identity"] {
            assert!(!takes_gzip(&with(ACCEPT_ENCODING, refused)), "{refused}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn path_is_open_on_loopback_and_a_secret_elsewhere() {
        let dashboard =
            |address: &str| Dashboard::new(address.parse().unwrap(), LatestRun::new()).unwrap();
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            let dashboard = dashboard(address);
            assert_eq!(dashboard.inside("/events"), Some("events"), "{address}");
        }
        for address in ["0.0.0.0", "::", "10.0.0.1"] {
            let dashboard = dashboard(address);
            let own = dashboard.path.reveal().clone();
            assert!(own.len() >= 20, "{address}");
            assert_eq!(dashboard.inside(&format!("{own}events")), Some("events"));
            for other in [
                "/",
                "/events",
                "/AAAAAAAAAAAAAAAAAAAAAA/",
                own.trim_end_matches('/'),
            ] {
                assert_eq!(dashboard.inside(other), None, "{address} {other}");
            }
        }
        let paths = [(); 2].map(|()| dashboard("::").path.reveal().clone());
        assert_ne!(paths[0], paths[1]);
    }
}
