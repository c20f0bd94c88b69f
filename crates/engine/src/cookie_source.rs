//! The field `cookie` of a request: which of a journey's cookies it has depends on where it goes.

use crate::cookies::CookieScope;
use crate::fill::{Fill, OptionalLine};
use crate::values::Values;
use std::cell::RefCell;

const SECOND_NS: u64 = 1_000_000_000;

/// Where a request goes, as far as its cookies depend on that.
#[derive(Debug)]
pub(crate) struct CookieSource {
    host: String,
    host_varies: bool,
    is_secure: bool,
    /// Path and query.
    target: Vec<Fill>,
}

thread_local! {
    static TARGET: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl CookieSource {
    /// The source for requests to `host` for `target`.
    pub(crate) fn new(host: &str, is_secure: bool, target: Vec<Fill>) -> CookieSource {
        CookieSource {
            host: host.to_ascii_lowercase(),
            host_varies: false,
            is_secure,
            target,
        }
    }

    /// The same for requests whose field `host` has placeholders.
    pub(crate) fn of_varying_host(self) -> CookieSource {
        CookieSource {
            host_varies: true,
            ..self
        }
    }

    /// Appends the field's value to `out`. Returns whether there is one.
    pub(crate) fn put(&self, values: &Values, out: &mut Vec<u8>) -> bool {
        let Some(journey) = &values.journey else {
            return false;
        };
        let (jar, hop) = (journey.memory.cookies(), journey.hop_target.as_deref());
        !jar.is_empty() && self.with_scope(values, hop, |scope| jar.put(scope, out))
    }

    /// Calls `act` with the scope of the request as it is sent now, to `hop` if a redirect has led
    /// it there.
    pub(crate) fn with_scope<T>(
        &self,
        values: &Values,
        hop: Option<&[u8]>,
        act: impl FnOnce(CookieScope<'_>) -> T,
    ) -> T {
        // Texts of placeholders may use memory of their own meanwhile.
        let mut own = TARGET.take();
        own.clear();
        if hop.is_none() {
            let target = self.target.iter();
            target.for_each(|piece| piece.fill(values, &mut own));
        }
        let acted = act(CookieScope {
            host: &self.host,
            host_varies: self.host_varies,
            target: hop.unwrap_or(&own),
            is_secure: self.is_secure,
            now: crate::clock::unix_ns() / SECOND_NS,
        });
        TARGET.set(own);
        acted
    }
}

impl OptionalLine for CookieSource {
    fn put_line(&self, values: &Values, out: &mut Vec<u8>) {
        let before = out.len();
        out.extend_from_slice(b"Cookie: ");
        if self.put(values, out) {
            out.extend_from_slice(b"\r\n");
        } else {
            out.truncate(before);
        }
    }
}
