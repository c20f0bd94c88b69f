//! Reads `[target]`.

use crate::read::builtin::builtin;
use crate::read::field::Field;
use crate::read::redirect_origins;
use crate::read::section::PlanSection;
use crate::read::target_url::{addresses, url};
use crate::{Builtin, Destination, Dns, Host, Scheme, Target, Url};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);

/// Paths of `[target]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "target.url",
    "target.addresses",
    "target.dns",
    "target.redirects_to",
    "target.redirects_to.url",
    "target.redirects_to.addresses",
    "target.builtin",
];

pub(crate) fn read(section: PlanSection<'_>) -> Option<Target> {
    let builtin = section.read("builtin", builtin);
    let target = match section.field("builtin").filter(is_wanted) {
        Some(_) => with_builtin(&section, builtin),
        None => elsewhere(&section),
    };
    section.finish();
    target
}

/// Whether the built-in target is wanted: `builtin = false` is the same as none.
fn is_wanted(field: &Field<'_>) -> bool {
    field.silent_flag() != Some(false)
}

fn with_builtin(
    section: &PlanSection<'_>,
    builtin: Option<(Builtin, Option<Url>)>,
) -> Option<Target> {
    section.refuse(
        &["url", "addresses", "dns"],
        "has no meaning with target.builtin, which brings its own; remove one of the two",
    );
    section.refuse(
        &["redirects_to"],
        "has no meaning with target.builtin, which redirects nowhere; remove one of the two",
    );
    let (builtin, listening_at) = builtin?;
    let url = listening_at.unwrap_or_else(|| not_listening(&builtin));
    Some(Target {
        url,
        addresses: Vec::new(),
        dns: Dns::Once,
        builtin: Some(builtin),
        redirects_to: Vec::new(),
    })
}

/// The URL of a built-in target until it listens.
fn not_listening(builtin: &Builtin) -> Url {
    let scheme = if builtin.tls {
        Scheme::Https
    } else {
        Scheme::Http
    };
    Url {
        scheme,
        host: Host::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        port: 0,
        path: "/".to_owned(),
    }
}

fn elsewhere(section: &PlanSection<'_>) -> Option<Target> {
    if !section.has("url") {
        section.problem_at(
            "url",
            "missing; write where the load goes, such as \"https://edge.test:8443/\", or builtin \
             = true",
        );
    }
    let url = section.read("url", url);
    let addresses = section.read("addresses", addresses).unwrap_or_default();
    let dns = section.read("dns", dns).unwrap_or(Dns::Once);
    let url = url?;
    let redirects_to = section.field("redirects_to");
    let redirects_to = redirects_to.map_or(Some(Vec::new()), |field| {
        redirect_origins::read(&field, (&url, &addresses))
    });
    let target = Target {
        url,
        addresses,
        dns,
        builtin: None,
        redirects_to: redirects_to?,
    };
    let is_resolved =
        |it: Destination<'_>| it.addresses.is_empty() && matches!(it.url.host, Host::Name(_));
    if dns != Dns::Once && !target.destinations().any(is_resolved) {
        section.context.note(
            "target.dns has no effect: nothing is resolved where addresses are given or the host \
             is an IP address"
                .to_owned(),
        );
    }
    Some(target)
}

fn dns(field: Field<'_>) -> Option<Dns> {
    match field.text("\"once\", \"connection\", or a duration such as \"30s\"")? {
        Dns::ONCE_WORD => Some(Dns::Once),
        Dns::EVERY_CONNECTION_WORD => Some(Dns::EveryConnection),
        text if text.starts_with(|c: char| c.is_ascii_digit()) => {
            field.duration(MS..=24 * HOUR).map(Dns::Every)
        }
        _ => {
            field.refuse(
                "is not known here; write \"once\", \"connection\", or a duration such as \"30s\"",
            );
            None
        }
    }
}
