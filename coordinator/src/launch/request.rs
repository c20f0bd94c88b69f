//! What the fleet is asked to run.

use anyhow::Context as _;
use control::{Audience, Digest, PLAN_MAX_BYTES, RunFile, RunId, RunRequest};
use plan::{End, Owner, Plan, PrivateFile};
use proto::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::BTreeMap;

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
        files: files(plan, agents),
        agents,
        firing,
        drain: plan.connection().timeouts.longest(),
    })
}

/// What `agents` agents need: each content once, whatever the plan calls it.
fn files(plan: &Plan, agents: u32) -> Vec<RunFile> {
    let mut files: BTreeMap<Digest, RunFile> = BTreeMap::new();
    for file in plan.files() {
        let sha256 = Digest(file.sha256.0);
        let content = || Bytes::copy_from_slice(&file.content);
        files.entry(sha256).or_insert_with(|| RunFile { sha256, content: content(), audience: Audience::All });
    }
    for agent in 0..agents {
        for file in private_files(plan, agent, agents) {
            let Some(content) = &file.content else { continue };
            let sha256 = Digest(file.sha256.0);
            let content = || Bytes::copy_from_slice(content);
            let nobodys = || RunFile { sha256, content: content(), audience: Audience::Only(Vec::new()) };
            if let Audience::Only(those) = &mut files.entry(sha256).or_insert_with(nobodys).audience {
                those.push(agent);
            }
        }
    }
    files.into_values().collect()
}

/// Client certificates and keys of the agent's virtual users; no other agent's.
fn private_files(plan: &Plan, agent: u32, agents: u32) -> impl Iterator<Item = &PrivateFile> {
    let pairs = plan.tls().map_or(&[][..], |tls| &tls.client_certificates);
    let places = plan.identities(Owner { agent, agents, ..Owner::ALONE });
    places.into_iter().flat_map(|place| [&pairs[place].cert, &pairs[place].key])
}

fn random_id() -> anyhow::Result<RunId> {
    let mut id = [0; 16];
    let bytes = getrandom(&mut id, GetRandomFlags::empty()).context("the system gives no random numbers")?;
    anyhow::ensure!(bytes == id.len(), "the system gives no random numbers");
    Ok(RunId(id))
}

#[cfg(test)]
mod tests {
    use super::of;
    use control::{Audience, Digest};
    use plan::{Files, Plan};

    /// A certificate or key for each name; `same.key` is another's.
    struct Folder;

    impl Files for Folder {
        fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
            let kind = if name.ends_with("key") { "PRIVATE KEY" } else { "CERTIFICATE" };
            let name = if name == "same.key" { "0.key" } else { name };
            Ok(format!("{name}\n-----BEGIN {kind}-----\n").into_bytes())
        }
    }

    /// Which agents get the file that the folder calls so; `None`: all of them.
    fn audience(request: &control::RunRequest, name: &str) -> Option<Vec<u32>> {
        let digest = Digest::of(&Folder.read(name).unwrap());
        let found: Vec<_> = request.files.iter().filter(|file| file.sha256 == digest).collect();
        assert_eq!(found.len(), 1, "{name} is sent once");
        match &found[0].audience {
            Audience::All => None,
            Audience::Only(agents) => Some(agents.clone()),
        }
    }

    #[test]
    fn key_goes_only_to_agents_whose_users_have_it() {
        let plan = |load: &str, identities: usize| {
            let pair = |nth| format!("{{ cert = \"{nth}.pem\", key = \"{nth}.key\" }}");
            let pairs = (0..identities).map(pair).collect::<Vec<String>>().join(", ");
            let tls = format!("tls = {{ ca = \"ca.pem\", client_certificates = [{pairs}] }}");
            Plan::parse(&format!("target.url = \"https://a.test\"\nload = {load}\n{tls}"), &mut Folder).unwrap()
        };
        let closed = "{ connections = 8, requests = 8 }";
        let open = "{ rate = \"8/s\", max_connections = 8, requests = 8 }";
        for load in [closed, open] {
            // Users go round the agents, and so do identities.
            for (identities, agents, expected) in [
                (2, 2, vec![vec![0], vec![1]]),
                (2, 1, vec![vec![0], vec![0]]),
                (3, 2, vec![vec![0, 1], vec![0, 1], vec![0, 1]]),
                (4, 2, vec![vec![0], vec![1], vec![0], vec![1]]),
                (4, 4, vec![vec![0], vec![1], vec![2], vec![3]]),
            ] {
                let request = of(&plan(load, identities), agents).unwrap();
                assert_eq!(audience(&request, "ca.pem"), None);
                for (nth, agents) in expected.into_iter().enumerate() {
                    assert_eq!(audience(&request, &format!("{nth}.key")), Some(agents.clone()), "{load} {identities} {nth}");
                    assert_eq!(audience(&request, &format!("{nth}.pem")), Some(agents));
                }
            }
            // Users 8 and above do not exist: nobody needs their keys.
            assert_eq!(of(&plan(load, 10), 2).unwrap().files.len(), 1 + 2 * 8);
        }
        let shared =
            "tls.client_certificates = [{ cert = \"0.pem\", key = \"0.key\" }, { cert = \"1.pem\", key = \"same.key\" }]";
        let shared = format!("target.url = \"https://a.test\"\nload = {closed}\n{shared}");
        let request = of(&Plan::parse(&shared, &mut Folder).unwrap(), 2).unwrap();
        assert_eq!(audience(&request, "0.key"), Some(vec![0, 1]));
    }
}
