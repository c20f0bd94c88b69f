//! Reads where agents have a data file from: it is sent to them, or lies on their machines.

use crate::read::section::PlanSection;
use crate::{DataPlace, File, MappedFile, Sha256};

/// Most bytes of a file that is sent, as it is on the disk: agents take no more of all files
/// together.
const MAX_SENT_BYTES: u64 = 1 << 30;

/// Reads the file of a section; `None` if something is wrong with it and was reported.
pub(crate) fn read(section: &PlanSection<'_>) -> Option<(File, DataPlace)> {
    let has_send = section.has("send");
    let stated = section.read("send", |field| field.flag());
    if has_send && stated.is_none() {
        return None;
    }
    let (name, known) = section.read("file", |field| field.file_name())?;
    let large = section
        .context
        .size(name)
        .filter(|&size| size > MAX_SENT_BYTES);
    match (stated, large) {
        (Some(true), Some(size)) => {
            section.problem_at(
                "send",
                format_args!(
                    "{name:?} has {size} bytes, and at most {MAX_SENT_BYTES} are sent; remove \
                     this, and copy the file to the agents (agent join --data DIR)"
                ),
            );
            None
        }
        (Some(false), _) => mapped(section, name, known),
        (None, Some(size)) => {
            section.context.note(format!(
                "{}: {name:?} has {size} bytes and is not sent; agents on other machines need it \
                 in the folder that they are given (agent join --data DIR)",
                section.path
            ));
            mapped(section, name, known)
        }
        (_, None) => {
            let sent = section.read("file", |field| field.file(MAX_SENT_BYTES as usize));
            sent.map(|file| (file, DataPlace::Sent))
        }
    }
}

fn mapped(
    section: &PlanSection<'_>,
    name: &str,
    known: Option<Sha256>,
) -> Option<(File, DataPlace)> {
    let found = section.context.map(name, known);
    let problem = match &found {
        Err(why) if section.context.is_canonical() => {
            format!("{name:?} is not on this agent: {why}")
        }
        Err(why) => {
            format!("{name:?} cannot be read: {why}; paths are relative to the plan file")
        }
        Ok(mapped) => match (mapped.as_ref().map(sha256), known) {
            (Some(found), Some(known)) if found != known => format!(
                "{name:?} has the SHA-256 {found}, which is not the stated one; correct sha256, \
                 or the file"
            ),
            (None, None) => format!("{name:?} is not at hand; state its sha256"),
            (found, known) => {
                let file = File {
                    name: name.to_owned(),
                    sha256: found.or(known)?,
                    content: [].into(),
                };
                return Some((file, DataPlace::AtAgents(mapped.clone())));
            }
        },
    };
    section.problem_at("file", problem);
    None
}

fn sha256(mapped: &MappedFile) -> Sha256 {
    Sha256(mapped.sha256())
}
