//! The command line of a built-in target.

use plan::{Builtin, BuiltinKey, BuiltinPace};
use std::time::Duration;

/// Returns the arguments that make the target that a plan asks for.
pub(crate) fn target_arguments(builtin: &Builtin) -> Vec<String> {
    let key = match builtin.key {
        BuiltinKey::P256 => "p256",
        BuiltinKey::Rsa2048 => "rsa2048",
    };
    let plain = (!builtin.tls).then(|| "--plain".to_owned());
    let delay = format!("--delay-ns={}", builtin.delay.as_nanos());
    let fixed = [
        "target".to_owned(),
        format!("--key={key}"),
        format!("--body-bytes={}", builtin.body_bytes),
        delay,
    ];
    fixed
        .into_iter()
        .chain(plain)
        .chain(pace_arguments(builtin.pace))
        .collect()
}

fn pace_arguments(pace: BuiltinPace) -> Vec<String> {
    let ns = |name: &str, duration: Duration| format!("--{name}-ns={}", duration.as_nanos());
    match pace {
        BuiltinPace::AtOnce => Vec::new(),
        BuiltinPace::Stall {
            every,
            lasts,
            first,
        } => {
            vec![
                ns("stall-every", every),
                ns("stall-for", lasts),
                ns("stall-first", first),
            ]
        }
        BuiltinPace::Servers {
            count,
            service_time,
        } => vec![
            format!("--servers={count}"),
            ns("service-time", service_time),
        ],
    }
}
