//! What the fleet is asked to run.

use anyhow::Context as _;
use control::{Audience, Digest, PLAN_MAX_BYTES, RunFile, RunId, RunRequest};
use plan::{End, Plan};
use proto::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};

/// Why the plan cannot travel, where it cannot.
pub(crate) fn too_large(plan: &Plan) -> Option<String> {
    let bytes = plan.canonical_text().len();
    (bytes > PLAN_MAX_BYTES).then(|| {
        format!("the plan has {bytes} bytes with its defaults written out; {PLAN_MAX_BYTES} is the most: put bodies into files")
    })
}

/// The request for one run of `plan`.
pub(super) fn of(plan: &Plan, agents: u32) -> anyhow::Result<RunRequest> {
    let text = plan.canonical_text();
    let load = plan.load();
    let firing = match load.end {
        End::Duration(duration) => Some(load.warm_up + duration),
        End::Requests(_) => None,
    };
    Ok(RunRequest {
        run: random_id()?,
        name: plan.name().to_owned(),
        plan_digest: Digest::of(text.as_bytes()),
        plan: text,
        files: files(plan),
        agents,
        firing,
        drain: plan.connection().timeouts.longest(),
    })
}

/// Each content once, whatever the plan calls it.
fn files(plan: &Plan) -> Vec<RunFile> {
    let mut files: Vec<RunFile> = Vec::new();
    for file in plan.files() {
        let sha256 = Digest(file.sha256.0);
        if !files.iter().any(|known| known.sha256 == sha256) {
            files.push(RunFile { sha256, content: Bytes::copy_from_slice(&file.content), audience: Audience::All });
        }
    }
    files
}

fn random_id() -> anyhow::Result<RunId> {
    let mut id = [0; 16];
    let bytes = getrandom(&mut id, GetRandomFlags::empty()).context("the system gives no random numbers")?;
    anyhow::ensure!(bytes == id.len(), "the system gives no random numbers");
    Ok(RunId(id))
}
