//! Requests that follow a redirect: their target is known only then, the rest before the run.

use crate::body::{BodyUpload, RequestBody};
use crate::fill::{Fill, literal};
use crate::hops::{Hop, HopForm};
use crate::location::{AskedUrl, KnownOrigin};
use crate::request_bytes::{HeadEnd, PlannedRequest, RequestBytes, put_target};
use crate::request_rules::at_destinations;
use crate::values::Values;
use measure::RedirectFault;
use plan::{Scheme, Url};
use std::sync::Arc;

/// What a request of the plan becomes when it is redirected.
#[derive(Debug)]
pub(crate) struct HopRequest {
    /// Most redirects that an operation follows.
    most: u8,
    method: String,
    /// Path and query of the planned request.
    target: Vec<Fill>,
    /// By place among the target's destinations.
    origins: Vec<HopOrigin>,
}

/// An origin that redirects may lead to, and what is sent there.
#[derive(Debug)]
struct HopOrigin {
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
        let mut target = Vec::new();
        put_target(of, &mut target);
        let origins = at_destinations(plan, request);
        let origins = origins
            .map(|(url, request)| HopOrigin::new(url, (plan, &request, sources), body.clone()));
        HopRequest {
            most: request.redirects,
            method: request.method.clone(),
            target,
            origins: origins.collect(),
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
        let planned = || text(&self.target, values);
        let target = before.map_or_else(planned, |hop| hop.target.clone());
        let origins = self.origins.iter();
        let hosts: Vec<Vec<u8>> = origins.map(|origin| text(&origin.host, values)).collect();
        let origins = self.origins.iter().zip(&hosts);
        let origins: Vec<KnownOrigin<'_>> = origins
            .map(|(origin, host)| KnownOrigin {
                scheme: origin.scheme,
                authorities: [origin.authority.as_bytes(), host],
                port: origin.port,
            })
            .collect();
        let asked = AskedUrl {
            origins: &origins,
            origin: before.map_or(0, |hop| hop.origin),
            target: &target,
        };
        let (origin, target) = asked.follow(location)?;
        Ok(Hop {
            origin,
            target,
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
        let origin = &self.origins[usize::from(hop.origin)];
        let (method, rest) = match hop.form {
            HopForm::Planned => (&*self.method, &origin.planned),
            HopForm::Get => ("GET", &origin.get),
        };
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&hop.target);
        rest.write(values, out)
    }
}

impl HopOrigin {
    /// The origin of `url`; the request is as it is sent there.
    fn new(url: &Url, of: PlannedRequest<'_>, body: Option<Arc<RequestBody>>) -> HopOrigin {
        let (plan, request, sources) = of;
        let (authority, mut host) = (url.authority(), Vec::new());
        match request.host() {
            Some(given) => sources.template(given, &mut host),
            None => literal(&mut host, authority.as_bytes()),
        }
        let get = request.without_content();
        HopOrigin {
            scheme: url.scheme,
            port: url.port,
            authority,
            host,
            planned: RequestBytes::new(Vec::new(), of, body, HeadEnd::Keeps),
            get: RequestBytes::new(Vec::new(), (plan, &get, sources), None, HeadEnd::Keeps),
        }
    }
}

fn text(pieces: &[Fill], values: &Values) -> Vec<u8> {
    let mut text = Vec::new();
    let mut put = |piece: &Fill| piece.fill(values, &mut text);
    pieces.iter().for_each(&mut put);
    text
}
