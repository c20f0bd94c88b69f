//! The plan in the result: its text as written, its digest, and what a reader of the figures has to
//! know of it.

use measure::nanoseconds;
use plan::{
    HttpVersion, KeyExchange, Load, Plan, RequestsPerConnection, Shape, Stage, Verify, Words as _,
};
use serde::{Deserialize, Deserializer, Serialize};

/// The plan in the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanRecord {
    /// The text as the user wrote it, with [`plan::MASK`] in place of secrets.
    #[serde(deserialize_with = "mask_secrets")]
    pub text: String,
    /// The text with every default written out and files given by hash ([`Plan::masked_text`]);
    /// empty in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub canonical_text: String,
    /// SHA-256 of the canonical text including all its secrets, hexadecimal.
    pub digest: String,
    /// The target's URL, as written in the plan.
    pub url: String,
    /// Whether the target was the built-in one, started with the run.
    pub builtin_target: bool,
    /// The load and its loop.
    pub load: LoadRecord,
    /// Ramps, holds and steps of the measured part, in order; empty without stages, and in results
    /// of versions that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
    /// Requests per connection; absent if unlimited, 0 for handshakes only.
    pub requests_per_connection: Option<u32>,
    /// Concurrent requests on an HTTP/2 connection; absent with HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// The client's TLS settings; absent without TLS.
    pub tls: Option<TlsRecord>,
}

/// The load, as far as a reader of the figures has to know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum LoadRecord {
    /// Closed loop: virtual users with one operation each at a time.
    Closed {
        /// Virtual users at the start.
        connections: u32,
        /// Most connections at a time of users whose journeys share them; `None` if each has its
        /// own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_connections: Option<u32>,
        /// Whether users pause between operations.
        think_time: bool,
        /// Number of stages that follow.
        stages: u32,
    },
    /// Open loop: operations arrive regardless of the answers.
    Open {
        /// Arrivals per second at the start; of a replay, on average.
        arrivals_per_second: f64,
        /// `even` or `poisson`; `recorded` for a replay.
        arrivals: String,
        /// Most connections at a time.
        max_connections: u32,
        /// Users whose journeys share the connections; `None` if each connection is a user's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        users: Option<u32>,
        /// Number of stages that follow.
        stages: u32,
    },
}

/// A ramp; or a hold, if both amounts are equal; or a step, if both instants are equal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageRecord {
    /// Start of the stage, on the run clock (the warm-up begins at 0).
    pub from_ns: u64,
    /// End of the stage.
    pub to_ns: u64,
    /// Virtual users, or arrivals per second, at its start.
    pub from: f64,
    /// Virtual users, or arrivals per second, at its end.
    pub to: f64,
}

/// The client's TLS settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsRecord {
    /// `full`, `once` or `none`.
    pub verify: String,
    /// `fresh` or `cheap`.
    pub key_exchange: String,
    /// `first` or `remembered`: the group for which key shares were sent; empty in results of
    /// versions that did not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key_share: String,
    /// Share of new connections that were to offer a session; 0 for never.
    pub resumption_share: f64,
    /// Whether requests were to be sent as early data if a session allowed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
}

impl PlanRecord {
    /// Creates the record; `text` is the plan as the user wrote it, already without secrets
    /// ([`plan::mask_secrets`]).
    #[must_use]
    pub fn new(plan: &Plan, text: String) -> PlanRecord {
        PlanRecord {
            text,
            canonical_text: plan.masked_text(),
            digest: plan.digest().to_string(),
            url: plan.target().url.to_string(),
            builtin_target: plan.target().builtin.is_some(),
            load: LoadRecord::from_plan(plan),
            stages: StageRecord::from_load(plan.load()),
            requests_per_connection: match plan.connection().requests {
                RequestsPerConnection::HandshakeOnly => Some(0),
                RequestsPerConnection::Limited(number) => Some(number.get()),
                RequestsPerConnection::Unlimited => None,
            },
            streams: match plan.connection().http {
                HttpVersion::Http11 => None,
                HttpVersion::Http2 { streams } => Some(streams),
            },
            tls: plan
                .tls()
                .map(|tls| TlsRecord::from_tls(tls, plan.resumption_share())),
        }
    }

    /// Returns the virtual users, or arrivals per second, that the plan asks for at `at_ns` of the
    /// run clock; `None` if its stages are not known. It does not consider when the load ends.
    /// For a replay this is its mean rate.
    #[must_use]
    pub fn amount_at(&self, at_ns: u64) -> Option<f64> {
        let (first, stages) = match &self.load {
            LoadRecord::Closed {
                connections,
                stages,
                ..
            } => (f64::from(*connections), *stages),
            LoadRecord::Open {
                arrivals_per_second,
                stages,
                ..
            } => (*arrivals_per_second, *stages),
        };
        if self.stages.len() != stages as usize {
            return None;
        }
        let begun = self.stages.iter().rev().find(|it| it.from_ns <= at_ns);
        Some(begun.map_or(first, |stage| stage.amount_at(at_ns)))
    }

    /// Lists the settings by which the client saved work that a careful client does; empty for a
    /// careful client.
    #[must_use]
    pub fn cheap_modes(&self) -> Vec<String> {
        let Some(tls) = &self.tls else {
            return Vec::new();
        };
        let verify = Verify::from_word(&tls.verify)
            .filter(|verify| *verify != Verify::Full)
            .map(|verify| format!("verify = {:?}", verify.word()));
        let key_exchange = KeyExchange::from_word(&tls.key_exchange)
            .filter(|kind| *kind == KeyExchange::Cheap)
            .map(|kind| format!("key_exchange = {:?}", kind.word()));
        verify.into_iter().chain(key_exchange).collect()
    }
}

impl LoadRecord {
    /// Most connections that journeys share; `None` if they share none.
    pub(crate) fn connections_shared(&self) -> Option<u32> {
        match *self {
            LoadRecord::Closed {
                max_connections, ..
            } => max_connections,
            LoadRecord::Open {
                users: Some(_),
                max_connections,
                ..
            } => Some(max_connections),
            LoadRecord::Open { .. } => None,
        }
    }

    fn from_plan(plan: &Plan) -> LoadRecord {
        let stages = u32::try_from(plan.load().stages.len()).unwrap_or(u32::MAX);
        match &plan.load().shape {
            Shape::Closed {
                connections,
                max_connections,
                think_time,
            } => LoadRecord::Closed {
                connections: *connections,
                max_connections: *max_connections,
                think_time: think_time.is_some(),
                stages,
            },
            Shape::Open {
                rate,
                arrivals,
                max_connections,
                users,
            } => LoadRecord::Open {
                arrivals_per_second: rate.as_per_second(),
                arrivals: match plan.replay() {
                    Some(_) => "recorded".to_owned(),
                    None => arrivals.word().to_owned(),
                },
                max_connections: *max_connections,
                users: *users,
                stages,
            },
        }
    }
}

impl StageRecord {
    fn from_load(load: &Load) -> Vec<StageRecord> {
        let mut from_ns = nanoseconds(load.warm_up);
        let mut from = match &load.shape {
            Shape::Closed { connections, .. } => f64::from(*connections),
            Shape::Open { rate, .. } => rate.as_per_second(),
        };
        let record = |stage: &Stage| {
            let record = StageRecord {
                from_ns,
                to_ns: from_ns.saturating_add(nanoseconds(stage.over)),
                from,
                to: stage.to,
            };
            (from_ns, from) = (record.to_ns, record.to);
            record
        };
        load.stages.iter().map(record).collect()
    }

    /// Returns the amount at an instant after the stage's start; after its end the last amount
    /// holds.
    fn amount_at(&self, at_ns: u64) -> f64 {
        let length = self.to_ns.saturating_sub(self.from_ns);
        let passed = at_ns.saturating_sub(self.from_ns);
        if passed >= length {
            return self.to;
        }
        self.from + (self.to - self.from) * passed as f64 / length as f64
    }
}

impl TlsRecord {
    fn from_tls(tls: &plan::Tls, resumption_share: f64) -> TlsRecord {
        TlsRecord {
            verify: tls.verify.word().to_owned(),
            key_exchange: tls.key_exchange.word().to_owned(),
            key_share: tls.key_share.word().to_owned(),
            resumption_share,
            early_data: tls.early_data,
        }
    }
}

/// Masks secrets while reading: results of earlier versions hold the values of secret headers.
pub(crate) fn mask_secrets<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    String::deserialize(text).map(|text| plan::mask_secrets(&text))
}

#[cfg(test)]
mod tests {
    use super::PlanRecord;
    use plan::{NoFiles, Plan};

    #[test]
    fn asked_amount_is_that_of_the_schedule() {
        let text = r#"
            target.url = "http://10.0.0.1/"
            [load]
            rate = "100/s"
            max_connections = 9
            warm_up = "5s"
            duration = "60s"
            [[load.stage]]
            over = "20s"
            to = "500/s"
            [[load.stage]]
            over = "10s"
            [[load.stage]]
            to = "50/s"
            [[load.stage]]
            over = "8s"
            to = "0/s"
        "#;
        let plan = Plan::parse(text, &mut NoFiles).unwrap();
        let mut record = PlanRecord::new(&plan, String::new());
        let profile = plan::Profile::after_warm_up(plan.load());
        for tenth in 0..600 {
            let ns = tenth * 100_000_000;
            let asked = record.amount_at(5_000_000_000 + ns).unwrap();
            let wanted = profile.amount_at(ns);
            assert!((asked - wanted).abs() < 1e-6, "{tenth}: {asked}, {wanted}");
        }
        assert_eq!(record.amount_at(0), Some(100.0), "the warm-up");
        record.stages.clear();
        assert_eq!(record.amount_at(0), None, "of an earlier version");
    }

    #[test]
    fn canonical_text_holds_no_secret_and_is_otherwise_whole() {
        let text = r#"
            target.url = "http://10.0.0.1/"
            load = { connections = 1, requests = 1 }
            [[request]]
            headers.Authorization = "Basic se\"cret"
            headers.cookie = ["a=secret", "b=secret"]
            headers.x = "kept"
            [[request]]
            path = "/b"
        "#;
        let plan = Plan::parse(text, &mut NoFiles).unwrap();
        let record = PlanRecord::new(&plan, String::new());
        assert!(
            plan.canonical_text().contains("secret") && !record.canonical_text.contains("secret"),
            "{}",
            record.canonical_text
        );
        assert!(
            record.canonical_text.contains("kept") && record.canonical_text.contains("(not saved)"),
            "{}",
            record.canonical_text
        );
        let (lines, whole) = (
            record.canonical_text.lines().count(),
            plan.canonical_text().lines().count(),
        );
        assert_eq!(lines, whole, "nothing else changes");
    }
}
