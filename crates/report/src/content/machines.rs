//! What machines did, as rows of a table, and what their processes used, as sentences.

use super::{ContentBlock, Remark, Section, Table, Topic};
use analysis::human::{number, share, time};
use analysis::{
    Busiest, Document, HotFunction, MachineFigures, MachineRole, ProcessFigures, ProfileResult,
};

const HEADINGS: [&str; 8] = [
    "",
    "cpu",
    "most",
    "busiest",
    "throttled",
    "stolen",
    "resent",
    "accept queue",
];

/// Machines shown; a few examples are enough even with a thousand machines.
const MACHINES_MAX: usize = 20;
/// Functions listed of a CPU profile.
const HOTTEST_MAX: usize = 3;
/// Sentences about processes.
const PROCESSES_MAX: usize = 10;

/// Empty if no machine was watched, or none has anything to report.
pub(super) fn section(document: &Document) -> Section {
    let rows = rows(document);
    let sentences = if rows.is_empty() {
        Vec::new()
    } else {
        sentences(document)
    };
    let blocks = [
        ContentBlock::Table(Table::new(&HEADINGS, rows)),
        ContentBlock::Remarks(Remark::plain(sentences)),
    ];
    Section::new(Topic::Machines, "Machines", blocks)
}

/// One row per machine. Monitors come first, because the run is about the machines they watch.
fn rows(document: &Document) -> Vec<Vec<String>> {
    let mut machines = document.machine_figures();
    machines.sort_by_key(|figures| figures.machine.role == MachineRole::Agent);
    machines.iter().take(MACHINES_MAX).map(row).collect()
}

/// What processes used, and how many of them are left out.
fn sentences(document: &Document) -> Vec<String> {
    let processes = &document.server_processes;
    let more = |all: usize, shown: usize, what: &str| {
        let left = all.saturating_sub(shown);
        (left > 0).then(|| format!("{left} more {what} are left out; result.json has them"))
    };
    let machines = document.machine_figures().len();
    let profiles = document
        .machines
        .iter()
        .filter_map(|it| it.profile.as_ref());
    more(machines, MACHINES_MAX, "machines")
        .into_iter()
        .chain(processes.iter().take(PROCESSES_MAX).map(process_sentence))
        .chain(more(processes.len(), PROCESSES_MAX, "processes"))
        .chain(profiles.take(MACHINES_MAX).map(profile_sentence))
        .collect()
}

fn row(figures: &MachineFigures<'_>) -> Vec<String> {
    let above_zero = |value: Option<f64>| {
        let value = value.filter(|value| *value > 0.0);
        value.map(share).unwrap_or_default()
    };
    let busiest = share(figures.busiest_mean);
    vec![
        name(figures),
        share(figures.cpu_busy_mean),
        share(figures.cpu_busy_max),
        match figures.busiest {
            Busiest::Cpu(cpu) => format!("CPU {cpu} {busiest}"),
            Busiest::Thread(process, thread) if process == thread => format!("{process} {busiest}"),
            Busiest::Thread(process, thread) => format!("{process}/{thread} {busiest}"),
        },
        above_zero(figures.throttled),
        above_zero(Some(figures.steal_mean)),
        above_zero(figures.resent),
        queue(figures),
    ]
}

/// For example `edge (role=server)`.
fn name(figures: &MachineFigures<'_>) -> String {
    let machine = figures.machine;
    let labels: Vec<String> = machine
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let what = match (machine.role, labels.is_empty()) {
        (MachineRole::Agent, _) => "agent".to_owned(),
        (MachineRole::Monitor, true) => "monitor".to_owned(),
        (MachineRole::Monitor, false) => labels.join(", "),
    };
    format!("{} ({what})", machine.name)
}

fn queue(figures: &MachineFigures<'_>) -> String {
    let fullest = figures.accept_queue;
    let fullest = fullest.map(|queue| format!("{} of {}", queue.waiting, queue.most));
    let overflows = figures.listen_overflows;
    let overflows = (overflows > 0).then(|| format!("{overflows} lost"));
    let parts: Vec<String> = fullest.into_iter().chain(overflows).collect();
    parts.join(", ")
}

/// For example `cpu profile of nginx (30 s, 2970 samples): mul 41 %; flame graph in
/// profile-edge.svg`.
fn profile_sentence(profile: &ProfileResult) -> String {
    let ProfileResult {
        process,
        seconds,
        samples,
        left_out,
        ..
    } = profile;
    let hot = |function: &HotFunction| format!("{} {}", function.name, share(function.share));
    let hottest: Vec<String> = profile.hottest.iter().take(HOTTEST_MAX).map(hot).collect();
    let left_out = match left_out {
        0 => String::new(),
        left_out => format!("; {left_out} more, of rare stacks, are left out"),
    };
    format!(
        "cpu profile of {process} ({seconds:.0} s, {samples} samples{left_out}): {}; flame graph \
         in {}",
        hottest.join(", "),
        profile.svg
    )
}

fn process_sentence(figures: &ProcessFigures) -> String {
    let ProcessFigures {
        machine,
        name,
        processes,
        cpus,
        cpu_per_operation_ns,
    } = figures;
    let processes = match processes {
        1 => String::new(),
        more => format!(" ({more} processes)"),
    };
    let each = cpu_per_operation_ns.map_or_else(String::new, |each| {
        format!(", {} for each operation", time(each))
    });
    format!(
        "{machine}: {name}{processes} kept {} CPUs busy{each}",
        number(*cpus)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_is_one_sentence_with_the_three_hottest_functions() {
        let hot = |(name, share): (&str, f64)| HotFunction {
            name: name.to_owned(),
            share,
        };
        let hottest = [("mul", 0.41), ("sqr", 0.2), ("read", 0.1), ("write", 0.05)];
        let profile = ProfileResult {
            process: "nginx".to_owned(),
            seconds: 29.98,
            samples: 2_970,
            left_out: 0,
            folded: "profile-edge.folded".to_owned(),
            svg: "profile-edge.svg".to_owned(),
            hottest: hottest.map(hot).into(),
        };
        assert_eq!(
            profile_sentence(&profile),
            "cpu profile of nginx (30 s, 2970 samples): mul 41.0 %, sqr 20.0 %, read 10.0 %; \
             flame graph in profile-edge.svg"
        );
        let cut = ProfileResult {
            left_out: 7,
            ..profile
        };
        assert!(
            profile_sentence(&cut)
                .contains("(30 s, 2970 samples; 7 more, of rare stacks, are left")
        );
    }
}
