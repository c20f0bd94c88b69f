//! The speed of the interface that leads to the target, against the bytes that are planned.

use super::{MachineRemark, Severity, Undertaking, either};
use host::MachineLimits;
use std::collections::BTreeMap;

pub(super) fn speed(of: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    // Connections go to all addresses in turn.
    let each = 8.0 / 1e6 / limits.routes.len() as f64;
    let mut parts: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    for route in limits.routes.iter().flatten() {
        if let Some(speed) = route.speed_mbit {
            *parts.entry((&route.interface, speed)).or_default() += each;
        }
    }
    let ways = [
        ("sends", of.demand.sent_bytes_per_s),
        ("receives", of.demand.received_bytes_per_s),
    ];
    let mut found: Option<MachineRemark> = None;
    for ((interface, speed), part) in parts {
        for (way, bytes_per_s) in ways {
            let asked = bytes_per_s.unwrap_or(0.0) * part;
            let Some(severity) = Severity::of_bound(asked, speed as f64) else {
                continue;
            };
            let severity = of.by_rate(severity);
            let mut cures: Vec<_> = of.agents_for(asked, speed as f64).into_iter().collect();
            cures.push("take a faster link".to_owned());
            let text = format!(
                "{interface} carries {speed} Mbit/s, and this agent's share {way} {asked:.0} \
                 Mbit/s over it, TLS and TCP not counted; {}",
                either(&cures)
            );
            // Only the worst is reported.
            if found.is_none() || severity == Severity::Refusal {
                found = Some(severity.remark(text));
            }
        }
    }
    found
}
