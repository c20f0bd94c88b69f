//! Reads `[target]`.

use crate::read::builtin::builtin;
use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::read::target_url::url;
use crate::{Address, Builtin, Dns, Host, Scheme, Target, Url};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const MAX_ADDRESSES: usize = 1000;
const HOUR: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);

/// Paths of `[target]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "target.url",
    "target.addresses",
    "target.dns",
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
    let (builtin, listening_at) = builtin?;
    let url = listening_at.unwrap_or_else(|| not_listening(&builtin));
    Some(Target {
        url,
        addresses: Vec::new(),
        dns: Dns::Once,
        builtin: Some(builtin),
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
    let resolves = addresses.is_empty() && matches!(url.host, Host::Name(_));
    if dns != Dns::Once && !resolves {
        section.context.note(
            "target.dns has no effect: nothing is resolved where addresses are given or the host \
             is an IP address"
                .to_owned(),
        );
    }
    Some(Target {
        url,
        addresses,
        dns,
        builtin: None,
    })
}

fn addresses(field: Field<'_>) -> Option<Vec<Address>> {
    let addresses = field.list_of("one such as [\"10.0.0.11\", \"10.0.0.12:8443\"]", |item| {
        item.parse::<Address>("an address such as \"10.0.0.11\"")
    })?;
    if addresses.len() > MAX_ADDRESSES {
        field.problem(format_args!(
            "has {} addresses; write at most {MAX_ADDRESSES}",
            addresses.len()
        ));
        return None;
    }
    Some(addresses)
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
