//! Reads `target.redirects_to`: the other origins that redirects may lead to.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::target_url::{addresses, url};
use crate::{Address, RedirectOrigin, Request, Target, Url};

/// Each worker has addresses, and each user connections, for every one of them.
const MAX_ORIGINS: usize = 16;
const EXAMPLE: &str = "one such as [\"https://login.shop.test\"]";

/// Reads the origins. Those at the target's host have its addresses, unless they have their own.
pub(crate) fn read(
    field: &Field<'_>,
    (target, at): (&Url, &[Address]),
) -> Option<Vec<RedirectOrigin>> {
    let mut known = vec![target.clone()];
    let origins = field.list_of(EXAMPLE, |item| {
        let mut origin = origin(item)?;
        if known.iter().any(|url| url.has_origin_of(&origin.url)) {
            item.problem(format_args!(
                "{} is named already, or is where target.url is; remove it",
                origin.url.origin()
            ));
            return None;
        }
        known.push(origin.url.clone());
        if origin.addresses.is_empty() && origin.url.host == target.host {
            // Their ports are those of the target.
            let hosts = at.iter().map(|address| address.ip);
            origin.addresses = hosts.map(|ip| Address { ip, port: None }).collect();
            origin.addresses.dedup();
        }
        Some(origin)
    })?;
    if origins.len() > MAX_ORIGINS {
        field.problem(format_args!(
            "has {} origins; write at most {MAX_ORIGINS}",
            origins.len()
        ));
        return None;
    }
    Some(origins)
}

fn origin(item: &Field<'_>) -> Option<RedirectOrigin> {
    if !matches!(item.node.value, NodeValue::Table(_)) {
        return Some(RedirectOrigin {
            url: origin_url(item.clone())?,
            addresses: Vec::new(),
        });
    }
    let section = item.section()?;
    if !section.has("url") {
        section.problem("names no origin; write url = \"https://login.shop.test\"");
    }
    let url = section.read("url", origin_url);
    let addresses = section.read("addresses", addresses).unwrap_or_default();
    section.finish();
    Some(RedirectOrigin {
        url: url?,
        addresses,
    })
}

fn origin_url(field: Field<'_>) -> Option<Url> {
    let read = url(field.clone())?;
    if read.path == "/" {
        return Some(read);
    }
    field.refuse(format_args!(
        "has a path, and redirects may lead to any path of an origin; write {:?}",
        read.origin()
    ));
    None
}

/// Reports origins that nothing can lead to.
pub(crate) fn check_use(
    root: &PlanSection<'_>,
    target: Option<&Target>,
    requests: Option<&[Request]>,
) {
    let has_origins = target.is_some_and(|target| !target.redirects_to.is_empty());
    let follows = |requests: &[Request]| requests.iter().any(|request| request.redirects > 0);
    if has_origins && !requests.is_none_or(follows) {
        root.problem_at(
            "target",
            "has redirects_to, and no request follows redirects; write redirects = 5 in [request], \
             or remove it",
        );
    }
}
