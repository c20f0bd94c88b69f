//! CPU time of the workers, and the clock that they use.

use super::{MachineRemark, Severity, Undertaking, either};
use host::MachineLimits;

/// Clocks that take a microsecond or more to read, or that are coarse.
const SLOW_CLOCKS: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];

/// A share that is calibrated to need more than this many times the workers' time cannot work.
/// Below that it may, because a full worker needs up to half less for each operation than one that
/// is half idle.
const CALIBRATED_WITHIN: f64 = 1.5;

/// Kinds of work that need a smaller part of the CPUs are left out.
const WORTH_A_WORD: f64 = 0.01;

pub(super) fn compare_with_calibration(
    of: &Undertaking<'_>,
    limits: &MachineLimits,
) -> Option<MachineRemark> {
    let expense = of.calibration?.expense(&of.demand, of.workers)?;
    let workers = f64::from(of.workers);
    let cpus = limits
        .cpu_quota
        .map_or(workers, |quota| workers.min(f64::from(quota)));
    let needed = |part: f64| part * workers / cpus;
    let severity = match Severity::of_bound(needed(expense.part), 1.0)? {
        Severity::Refusal if needed(expense.part) <= CALIBRATED_WITHIN => Severity::Concern,
        // Requests are calibrated over TLS, so without it they may well take less.
        Severity::Refusal if of.plan.tls().is_none() => Severity::Concern,
        severity => severity,
    };
    let percent = |part: f64| format!("{:.0} %", 100.0 * needed(part));
    let kinds = expense.kinds.iter();
    let kinds: Vec<String> = kinds
        .filter(|(_, part)| needed(*part) >= WORTH_A_WORD)
        .map(|(work, part)| format!("{} {work}", percent(*part)))
        .collect();
    let mut cures: Vec<_> = of
        .agents_for(needed(expense.part), 1.0)
        .into_iter()
        .collect();
    cures.push("give its workers more CPUs".to_owned());
    Some(of.by_rate(severity).remark(format!(
        "this agent's share needs {} of the {cpus} CPUs of its workers, as calibrated: {}; {}",
        percent(expense.part),
        kinds.join(", "),
        either(&cures)
    )))
}

pub(super) fn quota(of: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    let quota = limits.cpu_quota?;
    (quota < of.workers as f32).then(|| {
        Severity::Concern.remark(format!(
            "the control group may use {quota} CPUs, and there are {} workers: once they used it \
             up, all stand still for the rest of a period; raise the quota, or use fewer --workers",
            of.workers
        ))
    })
}

pub(super) fn sleep(of: &Undertaking<'_>, _: &MachineLimits) -> Option<MachineRemark> {
    (!of.spins && of.share.rate.is_some()).then(|| {
        Severity::Concern.remark(
            "workers sleep until each arrival is due (--no-spin, or a CPU quota), and a CPU that \
             sleeps wakes 20 to 100 µs late"
                .to_owned(),
        )
    })
}

pub(super) fn clock(_: &Undertaking<'_>, limits: &MachineLimits) -> Option<MachineRemark> {
    let clock = &limits.clock_source;
    SLOW_CLOCKS.contains(&clock.as_str()).then(|| {
        Severity::Concern.remark(format!(
            "the kernel tells time by {clock}, which takes a microsecond or more for each look, \
             and workers look several times for a request; where the CPU has one that holds, write \
             tsc to /sys/devices/system/clocksource/clocksource0/current_clocksource"
        ))
    })
}
