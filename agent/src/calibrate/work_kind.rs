//! The kinds of work that are measured, each as a small plan, and the targets that they go to.

use super::load_round::{LocalServer, MachineHalves};
use anyhow::anyhow;
use plan::{BuiltinKey, CalibratedWork, Group, NoFiles, Plan, Words as _};
use std::sync::Arc;
use std::time::Duration;
use target::{Config, KeyKind, ServerTls, TargetAnswer};

/// Groups whose handshakes are measured: those that plans offer by default, and what browsers offer
/// first.
const GROUPS: [Group; 4] = [Group::ALL[0], Group::ALL[1], Group::ALL[2], Group::ALL[3]];
/// Virtual users of each load thread. The more there are, the more events come with each wait, and
/// the cheaper each operation is. With one user a handshake costs nearly twice as much as with
/// four, and a run at half of the ceiling is in between.
const USERS_PER_WORKER: usize = 2;
/// Path of the large body, by which bytes are measured.
const LARGE: &str = "/large";
/// Its length, which makes the cost of its request negligible.
const LARGE_BYTES: u64 = 4 << 20;

/// A kind of work, and how its plan differs from the others'.
#[derive(Debug, Clone)]
pub(super) struct WorkKind {
    pub(super) work: CalibratedWork,
    /// The server's key; `None` for plain HTTP.
    key: Option<BuiltinKey>,
    group: Group,
    resumption: &'static str,
    requests: &'static str,
    /// Whether the answers are large.
    is_large: bool,
}

/// Every kind that is measured, the handshakes first.
pub(super) fn all() -> Vec<WorkKind> {
    let resumed = WorkKind {
        work: CalibratedWork::ResumedHandshake,
        key: Some(BuiltinKey::P256),
        group: GROUPS[0],
        resumption: "always",
        requests: "0",
        is_large: false,
    };
    let full = WorkKind {
        resumption: "never",
        ..resumed.clone()
    };
    let handshakes = GROUPS.into_iter().flat_map(|group| {
        [BuiltinKey::P256, BuiltinKey::Rsa2048].map(|key| WorkKind {
            work: CalibratedWork::FullHandshake { group, key },
            key: Some(key),
            group,
            ..full.clone()
        })
    });
    let mut kinds: Vec<WorkKind> = handshakes.collect();
    kinds.extend([
        resumed,
        WorkKind {
            work: CalibratedWork::PlainConnection,
            key: None,
            requests: "1",
            ..full.clone()
        },
        WorkKind {
            work: CalibratedWork::Request,
            requests: "\"unlimited\"",
            ..full.clone()
        },
        WorkKind {
            work: CalibratedWork::Byte,
            requests: "\"unlimited\"",
            is_large: true,
            ..full
        },
    ]);
    kinds
}

impl WorkKind {
    /// The plan of this kind against `server`, for `workers` load threads.
    ///
    /// # Errors
    /// If that is no valid plan.
    pub(super) fn plan(
        &self,
        server: &LocalServer,
        workers: usize,
        lasts: Duration,
    ) -> anyhow::Result<Arc<Plan>> {
        let mut lines = vec![
            "name = \"calibration\"".to_owned(),
            format!("connection.requests = {}", self.requests),
            format!("load.connections = {}", workers * USERS_PER_WORKER),
            format!("load.duration = \"{}ms\"", lasts.as_millis()),
        ];
        match self.key {
            Some(key) => lines.extend([
                format!("target.builtin.key = {:?}", key.word()),
                "tls.versions = [\"1.3\"]".to_owned(),
                format!("tls.groups = [{:?}]", self.group.name),
                format!("tls.resumption = {:?}", self.resumption),
            ]),
            None => lines.push("target.builtin.tls = false".to_owned()),
        }
        lines.extend(
            self.is_large
                .then(|| format!("request = [{{ path = {LARGE:?} }}]")),
        );
        let text = lines.join("\n");
        let plan = Plan::parse(&text, &mut NoFiles).map_err(|problems| anyhow!("{problems}"))?;
        Ok(Arc::new(plan.with_builtin_at(
            server.address,
            server.ca_pem.as_deref().map(str::as_bytes),
        )))
    }
}

/// A target for each key, and one without TLS.
pub(super) struct Servers {
    p256: LocalServer,
    rsa2048: LocalServer,
    plain: LocalServer,
}

impl Servers {
    /// # Errors
    /// If one of them cannot listen.
    pub(super) fn start(halves: &MachineHalves) -> anyhow::Result<Servers> {
        let start = |tls| {
            let large = TargetAnswer {
                body_bytes: LARGE_BYTES,
                ..TargetAnswer::default()
            };
            LocalServer::start(
                Config {
                    tls,
                    paths: vec![(LARGE.to_owned(), large)],
                    ..Config::default()
                },
                &halves.target,
            )
        };
        let tls = |key| {
            Some(ServerTls {
                key,
                tickets: true,
                ..ServerTls::default()
            })
        };
        Ok(Servers {
            p256: start(tls(KeyKind::P256))?,
            rsa2048: start(tls(KeyKind::Rsa2048))?,
            plain: start(None)?,
        })
    }

    /// The server that a kind of work goes to.
    pub(super) fn server(&self, kind: &WorkKind) -> &LocalServer {
        match kind.key {
            Some(BuiltinKey::P256) => &self.p256,
            Some(BuiltinKey::Rsa2048) => &self.rsa2048,
            None => &self.plain,
        }
    }
}
