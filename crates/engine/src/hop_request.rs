//! Requests that follow a redirect: their target is known only then, the rest before the run.

use crate::body::{BodyUpload, RequestBody};
use crate::fill::{Fill, literal};
use crate::hops::{Hop, HopForm};
use crate::location::AskedUrl;
use crate::request_bytes::{HeadEnd, PlannedRequest, RequestBytes, put_target};
use crate::request_rules::authority;
use crate::values::Values;
use measure::RedirectFault;
use plan::Scheme;
use std::sync::Arc;

/// What a request of the plan becomes when it is redirected.
#[derive(Debug)]
pub(crate) struct HopRequest {
    /// Most redirects that an operation follows.
    most: u8,
    method: String,
    /// Path and query of the planned request.
    target: Vec<Fill>,
    scheme: Scheme,
    port: u16,
    /// The URL's host and port, and the value of the field `Host`.
    authority: String,
    host: Vec<Fill>,
    /// What follows the target, in each form.
    planned: RequestBytes,
    get: RequestBytes,
}

impl HopRequest {
    pub(crate) fn new(of: PlannedRequest<'_>, body: Option<Arc<RequestBody>>) -> HopRequest {
        let (plan, request, sources) = of;
        let url = &plan.target().url;
        let (authority, mut host) = (authority(plan), Vec::new());
        match request.host() {
            Some(given) => sources.template(given, &mut host),
            None => literal(&mut host, authority.as_bytes()),
        }
        let mut target = Vec::new();
        put_target(of, &mut target);
        let get = request.without_content();
        HopRequest {
            most: request.redirects,
            method: request.method.clone(),
            target,
            scheme: url.scheme,
            port: url.port,
            authority,
            host,
            planned: RequestBytes::new(Vec::new(), of, body, HeadEnd::Keeps),
            get: RequestBytes::new(Vec::new(), (plan, &get, sources), None, HeadEnd::Keeps),
        }
    }

    /// Where the operation with these `values` goes from `before`, by a redirect with `status` to
    /// `location`. `since` is when its latest request was sent.
    pub(crate) fn follow(
        &self,
        before: Option<&Hop>,
        values: &Values,
        (status, location): (u16, &[u8]),
        since: u64,
    ) -> Result<Hop, RedirectFault> {
        let followed = before.map_or(0, |hop| hop.followed);
        if followed >= self.most {
            return Err(RedirectFault::TooMany);
        }
        let text = |pieces: &[Fill]| {
            let mut text = Vec::new();
            pieces
                .iter()
                .for_each(|piece| piece.fill(values, &mut text));
            text
        };
        let target = before.map_or_else(|| text(&self.target), |hop| hop.target.clone());
        let asked = AskedUrl {
            scheme: self.scheme,
            authorities: [self.authority.as_bytes(), &text(&self.host)],
            port: self.port,
            target: &target,
        };
        Ok(Hop {
            target: asked.follow(location)?,
            form: before
                .map_or(HopForm::Planned, |hop| hop.form)
                .after(status, &self.method),
            followed: followed + 1,
            since: before.map_or(since, |hop| hop.since),
        })
    }

    /// Appends the request of `hop` for HTTP/1.1 to `out`, as [`RequestBytes::write`] does.
    pub(crate) fn write(
        &self,
        hop: &Hop,
        values: impl FnOnce() -> Values,
        out: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let (method, rest) = match hop.form {
            HopForm::Planned => (&*self.method, &self.planned),
            HopForm::Get => ("GET", &self.get),
        };
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&hop.target);
        rest.write(values, out)
    }
}
