//! Describes a campaign: its variants, its runs in order, what is searched, and about how long all
//! of it takes.

use super::expenses::KnownMachines;
use super::words::paragraphs;
use super::{lines, shares};
use analysis::Bounds;
use plan::{Campaign, Capacity, End, Plan, Search, SearchRange, duration_text};
use std::time::Duration;

/// Time from one run to the next, in which agents are notified, connect and drain.
const AROUND_A_RUN: Duration = Duration::from_secs(2);

/// Most runs of a round that are listed; if there are more, the first ones are.
const LISTED_MAX: usize = 24;

/// Most rounds whose order is listed.
const ROUNDS_MAX: usize = 6;

/// Describes everything that a file asks for.
pub(super) fn describe(campaign: &Campaign, agents: u32, known: &KnownMachines) -> String {
    let variants = campaign.variants();
    let runs = campaign.runs();
    let noun = if campaign.search().is_some() {
        ("search", "searches")
    } else {
        ("run", "runs")
    };
    let mut text = format!(
        "plan {}: {} of {}\n",
        campaign.name(),
        count_in_words(runs.len(), noun),
        count_in_words(variants.len(), ("variant", "variants"))
    );
    for (index, variant) in variants.iter().enumerate() {
        let base = variants
            .first()
            .filter(|_| index > 0)
            .map(|first| &first.plan);
        text.push_str(&format!(
            "\nvariant {}, digest {}\n\n",
            variant.name,
            variant.plan.digest()
        ));
        text.push_str(&base.map_or_else(
            || lines(&paragraphs(&variant.plan)),
            |base| differences(base, &variant.plan),
        ));
    }
    text.push('\n');
    text.push_str(&lines(&schedule(campaign)));
    if campaign.search().is_none() {
        text.push('\n');
        text.push_str(&each_share(campaign, agents, known));
    }
    for note in campaign.notes() {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}

/// Describes what differs from the first variant.
fn differences(first: &Plan, other: &Plan) -> String {
    let known = paragraphs(first);
    let mut changed = paragraphs(other);
    changed.retain(|paragraph| !known.contains(paragraph));
    for (subject, _) in &known {
        if !paragraphs(other).iter().any(|(other, _)| other == subject) {
            changed.push((subject, vec!["none".to_owned()]));
        }
    }
    if changed.is_empty() {
        "as the first in every line that is shown\n".to_owned()
    } else {
        lines(&changed)
    }
}

/// The shares of each variant's load and what they need of the agents, once if all are the same.
fn each_share(campaign: &Campaign, agents: u32, known: &KnownMachines) -> String {
    let tables: Vec<String> = campaign
        .variants()
        .iter()
        .map(|variant| {
            let plan = &variant.plan;
            let table = shares::table(plan, agents);
            format!("{table}\n{}", known.lines(plan, agents))
        })
        .collect();
    match tables.split_first() {
        Some((first, rest)) if rest.iter().all(|table| table == first) => first.clone(),
        _ => {
            let named = campaign
                .variants()
                .iter()
                .zip(&tables)
                .map(|(variant, table)| format!("{}\n{table}", variant.name));
            named.collect::<Vec<String>>().join("\n")
        }
    }
}

/// Describes what surrounds the runs: their order, what is searched in each, and the time they
/// take.
fn schedule(campaign: &Campaign) -> Vec<(&'static str, Vec<String>)> {
    let mut paragraphs = vec![("order", order(campaign))];
    // It takes the place of each run of the order, so it is shown right below.
    if let Some(search) = campaign.search() {
        paragraphs.push(("search", describe_search(search)));
    }
    paragraphs.push(("time", vec![time(campaign)]));
    paragraphs
}

/// The order of the runs in rounds, each with every variant.
fn order(campaign: &Campaign) -> Vec<String> {
    let repeat = campaign.repeat();
    let variants = campaign.variants().len();
    let names: Vec<&str> = campaign
        .runs()
        .iter()
        .map(|&run| campaign.variant(run).name.as_str())
        .collect();
    let rounds: Vec<String> = names.chunks(variants).map(list).collect();
    let mut lines = match repeat.shuffle {
        Some(_) => rounds.iter().take(ROUNDS_MAX).cloned().collect(),
        None => rounds[..1].to_vec(),
    };
    lines.extend(repeat.shuffle.map(|seed| {
        let rounds = count_in_words(rounds.len(), ("round", "rounds"));
        format!("{rounds}, each in an order of its own by seed {seed}")
    }));
    lines.extend(
        (repeat.shuffle.is_none() && repeat.times > 1)
            .then(|| format!("and so on, {} times in all", repeat.times)),
    );
    lines.extend(
        (names.len() > 1)
            .then(|| format!("a pause of {} between two", duration_text(repeat.pause))),
    );
    lines
}

fn list(names: &[&str]) -> String {
    let beyond = names.len().saturating_sub(LISTED_MAX);
    let more = if beyond > 0 {
        format!(" and {beyond} more")
    } else {
        String::new()
    };
    format!("{}{more}", names[..names.len().min(LISTED_MAX)].join(", "))
}

fn describe_search(search: &Search) -> Vec<String> {
    match search {
        Search::Agents(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            vec![format!(
                "the load of the plan for each of {} agents, one number after the other",
                numbers.join(", ")
            )]
        }
        Search::Capacity(capacity) => {
            let range = match capacity.range {
                SearchRange::Rate { from, to } => format!("from {from} to {to}"),
                SearchRange::Connections { from, to } => {
                    format!("from {from} to {to} virtual users")
                }
            };
            vec![
                format!(
                    "the highest load that keeps every threshold, {range}, to {} %",
                    capacity.precision * 100.0
                ),
                holds(capacity),
                format!(
                    "after a hold that failed, up to {} until the target has recovered",
                    duration_text(capacity.settle)
                ),
            ]
        }
    }
}

fn holds(capacity: &Capacity) -> String {
    // No plan that was read has bounds that are refused here.
    let Ok(bounds) = Bounds::from_plan(capacity) else {
        return String::new();
    };
    let for_knee = match bounds.holds_for_knee() {
        0 => String::new(),
        holds => format!(", and {holds} for the knee"),
    };
    let agreeing = bounds.holds_agreeing();
    let max = bounds.holds_max();
    format!(
        "at most {agreeing} holds of {} each; {max} where some contradict others{for_knee}",
        duration_text(capacity.hold)
    )
}

/// The number of holds if none contradicts another.
fn holds_agreeing(capacity: &Capacity) -> u32 {
    Bounds::from_plan(capacity).map_or(0, |bounds| {
        bounds.holds_agreeing() + bounds.holds_for_knee()
    })
}

/// About how long all of it takes.
fn time(campaign: &Campaign) -> String {
    let pauses =
        campaign.repeat().pause * u32::try_from(campaign.runs().len() - 1).unwrap_or(u32::MAX);
    let each = campaign
        .runs()
        .iter()
        .map(|&run| length(&campaign.variant(run).plan, campaign.search()));
    let known: Duration = each.clone().flatten().sum::<Duration>() + pauses;
    let seconds = duration_text(Duration::from_secs(known.as_secs_f64().ceil() as u64));
    match (
        campaign.search(),
        each.clone().all(|length| length.is_some()),
    ) {
        (Some(Search::Capacity(_)), _) => {
            format!(
                "at most about {seconds} if holds do not contradict each other, and the time that \
                 the target takes to recover"
            )
        }
        (_, true) => format!("about {seconds}"),
        (_, false) => format!(
            "at least {seconds}; runs that end after a number of requests take as long as they \
             take"
        ),
    }
}

/// The length of a run, or of a search in its place; `None` if it is not known.
fn length(plan: &Plan, search: Option<&Search>) -> Option<Duration> {
    let load = plan.load();
    let around = load.warm_up + AROUND_A_RUN;
    let run = match load.end {
        End::Duration(duration) => Some(around + duration),
        End::Requests(_) => None,
    };
    match search {
        None => run,
        Some(Search::Agents(numbers)) => {
            Some(run? * u32::try_from(numbers.len()).unwrap_or(u32::MAX))
        }
        Some(Search::Capacity(capacity)) => {
            Some((around + capacity.hold) * holds_agreeing(capacity))
        }
    }
}

fn count_in_words(number: usize, (one, many): (&str, &str)) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{KnownMachines, describe, describe_search};
    use crate::plan_file::Folder;
    use plan::Campaign;

    fn campaign(text: &str) -> Campaign {
        Campaign::parse(text, &mut Folder(".".into())).unwrap()
    }

    #[test]
    fn variants_are_told_by_what_differs() {
        let text = describe(
            &campaign(
                "name = \"x\"\ntarget.builtin = true\nload = { connections = 2, duration = \"3s\" \
                 }\n[variants]\nhttp = { target.builtin.tls = false }\nfull = {}\n[repeat]\ntimes \
                 = 3\npause = \"2s\"",
            ),
            1,
            &KnownMachines::default(),
        );
        let lines: Vec<&str> = text.lines().collect();
        for line in [
            "plan x: 6 runs of 2 variants",
            "target      the built-in target (HTTP, 1024 bytes), started with the run",
            "order       http, full",
            "            and so on, 3 times in all",
            "            a pause of 2s between two",
            // Six runs of 3 s with 2 s around each, and five pauses.
            "time        about 40s",
        ] {
            assert!(lines.contains(&line), "{line:?} is not in\n{text}");
        }
        let of_full: Vec<&str> = text
            .split("variant full")
            .nth(1)
            .unwrap()
            .split("order")
            .next()
            .unwrap()
            .lines()
            .skip(2)
            .collect();
        assert!(
            of_full.iter().any(|line| line.starts_with("tls "))
                && !of_full.iter().any(|line| line.starts_with("load "))
        );
    }

    #[test]
    fn holds_of_a_search_are_told() {
        let parsed = campaign(
            "target.builtin = true\nsearch = { rate = { from = \"100/s\", to = \"50000/s\" }, \
             hold = \"20s\" }",
        );
        let words = describe_search(parsed.search().unwrap());
        assert_eq!(
            words[1],
            "at most 12 holds of 20s each; 27 where some contradict others"
        );
    }
}
