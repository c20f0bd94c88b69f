//! Reads `tls.key_log`.

use crate::KeyLog;
use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use std::time::Duration;

/// Most connections in a sample: a person reads them one by one.
const MAX_SAMPLE: u32 = 100_000;
const HOUR: Duration = Duration::from_secs(3600);
const US: Duration = Duration::from_micros(1);

/// Paths of `tls.key_log`.
pub(crate) const KEYS: &[&str] = &["tls.key_log.failed", "tls.key_log.slow", "tls.key_log.over"];

pub(crate) fn key_log(section: &PlanSection<'_>) -> KeyLog {
    let log = section.read("key_log", read).unwrap_or(KeyLog::Off);
    if log != KeyLog::Off {
        let note = "tls.key_log writes secrets: anyone who has the files can read what was sent. \
                    Agents write them on their own machines, and only where they are started with \
                    --key-log";
        section.context.note(note.to_owned());
    }
    log
}

fn read(field: Field<'_>) -> Option<KeyLog> {
    if let NodeValue::Table(_) = field.node.value {
        return read_samples(field.section()?);
    }
    match field.text("\"off\", \"all\" or { failed = 10 }")? {
        KeyLog::OFF_WORD => return Some(KeyLog::Off),
        KeyLog::ALL_WORD => return Some(KeyLog::All),
        _ => field.refuse(
            "is not known here; write \"off\", \"all\" or { failed = 10 }; where the file comes \
             to is said by each agent's --key-log",
        ),
    }
    None
}

fn read_samples(section: PlanSection<'_>) -> Option<KeyLog> {
    let failed = section.read("failed", |field| field.whole32(1..=MAX_SAMPLE));
    let slow = section.read("slow", |field| field.whole32(1..=MAX_SAMPLE));
    let over = section.read("over", |field| field.duration(US..=HOUR));
    let has_failed = section.has("failed");
    let has_slow = section.has("slow");
    let has_over = section.has("over");
    match (has_failed, has_slow, has_over) {
        (_, true, false) => {
            section.problem_at("slow", "does not say what is slow; add over = \"100ms\"")
        }
        (_, false, true) => {
            section.problem_at("over", "does not say how many connections; add slow = 10")
        }
        (false, false, false) => {
            section.problem("takes no connection; write { failed = 10 }, or \"all\"")
        }
        _ => {}
    }
    section.finish();
    // A part that was given must also be right; one that was not given samples nothing.
    let whole =
        failed.is_some() == has_failed && slow.is_some() == has_slow && over.is_some() == has_over;
    whole.then(|| KeyLog::Sampled {
        failed: failed.unwrap_or(0),
        slow: slow.unwrap_or(0),
        over: over.unwrap_or_default(),
    })
}
