//! Rules about what the kernel counts: open files, memory, tracked connections.

use super::{MachineRemark, Severity, Undertaking, either};
use engine::OPEN_FILES_BESIDE;
use host::MachineLimits;

/// Memory that an idle connection takes, rounded up: 5.7 KiB in the agent (`benches`, `memory`),
/// and 4.6 KiB in the kernel for its socket.
const CONNECTION_BYTES: u64 = 11 << 10;

/// Memory that the figures of one request at one address take in each worker, rounded up: three
/// intervals of 5 KiB each, and the same once more for the seconds that are merged and sent.
/// Measured by `crates/measure/tests/allocation.rs`, with 25 operations of each in a second.
const CELL_BYTES: u64 = 16 << 10;

/// Seconds that the table of tracked connections keeps a closed one
/// (`nf_conntrack_tcp_timeout_time_wait`).
const TRACKED_S: f64 = 120.0;

pub(super) fn open_files(of: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    let (users, limit) = (of.users(), limits.open_files?);
    let room = limit.saturating_sub(OPEN_FILES_BESIDE);
    let severity = Severity::of_bound(users as f64, room as f64)?;
    let mut cures = vec![format!(
        "raise the hard limit to {} or more (ulimit -Hn, LimitNOFILE=)",
        users + OPEN_FILES_BESIDE
    )];
    cures.extend(of.agents_for(users as f64, room as f64));
    Some(severity.remark(format!(
        "{}: this agent's share is {users}, and it may open {limit} files, of which it keeps \
         {OPEN_FILES_BESIDE} for others; {}",
        of.share.connections_field(),
        either(&cures)
    )))
}

pub(super) fn memory(of: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    let of_users = of.users().saturating_mul(CONNECTION_BYTES) as f64;
    let of_cells = of_cells(of) as f64;
    let (asked, room) = (of_users + of_cells, limits.memory_bytes as f64);
    let severity = Severity::of_bound(asked, room)?;
    let mib = |bytes: f64| (bytes / f64::from(1 << 20)).round();
    let mut cures = vec!["give this machine or its control group more memory".to_owned()];
    let most_of_it = if of_users >= of_cells {
        cures.extend(of.agents_for(asked, room));
        format!(
            "{}: this agent's share is {}, which take about {} MiB, {} KiB each",
            of.share.connections_field(),
            of.users(),
            mib(of_users),
            CONNECTION_BYTES >> 10,
        )
    } else {
        cures.push("use fewer requests, addresses or --workers".to_owned());
        format!(
            "request: figures by request and address, {} × {}, take about {} MiB with {} workers",
            of.plan.requests().len(),
            of.addresses.len(),
            mib(of_cells),
            of.workers,
        )
    };
    Some(severity.remark(format!(
        "{most_of_it}, and {} MiB are available; {}",
        mib(room),
        either(&cures)
    )))
}

/// Bytes that the figures by request and address take.
fn of_cells(of: &Undertaking<'_>) -> u64 {
    let periods = if of.plan.load().warm_up.is_zero() {
        1
    } else {
        2
    };
    let cells = (of.plan.requests().len() * of.addresses.len() * periods) as u64;
    cells.saturating_mul(CELL_BYTES * (u64::from(of.workers) + 1))
}

pub(super) fn check_conntrack(
    of: &Undertaking<'_>,
    limits: &MachineLimits,
) -> Option<MachineRemark> {
    // The agent's own connection to its coordinator would be tracked if any were.
    let table = limits.conntrack.filter(|table| table.entries > 0)?;
    let per_s = of.demand.connections_per_s.unwrap_or(0.0);
    let in_all = of
        .demand
        .connections_in_all
        .map_or(f64::MAX, |all| all as f64);
    let closed = (per_s * TRACKED_S).min(in_all).ceil();
    let asked = of.users() as f64 + closed;
    let room = table.most.saturating_sub(table.entries) as f64;
    let severity = match Severity::of_bound(asked, room)? {
        severity if of.users() as f64 <= room => of.by_rate(severity),
        severity => severity,
    };
    let enough = table.entries as f64 + asked;
    let mut cures = vec![format!("sysctl net.netfilter.nf_conntrack_max={enough}")];
    cures.extend(of.agents_for(asked, room));
    Some(severity.remark(format!(
        "{asked} connections of this agent's share would be tracked at once, those closed for \
         {TRACKED_S} s longer, and the kernel's table has room for {room} beside the {} in it; {}",
        table.entries,
        either(&cures)
    )))
}
