//! The plan in the result: its text as given, its digest, and what a reader of figures must know of
//! it.

use plan::{
    HttpVersion, KeyExchange, Plan, RequestsPerConnection, Resumption, Shape, Verify, Words as _,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The plan in the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// As the user gave it, but for [`plan::MASK`] in place of secrets.
    #[serde(deserialize_with = "masked")]
    pub text: String,
    /// With every default written out and files by hash ([`Plan::masked_text`]); empty in results
    /// of versions that did not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub canonical_text: String,
    /// SHA-256 of the canonical text with all its secrets, hexadecimal.
    pub digest: String,
    /// The target's URL, as the plan writes it.
    pub url: String,
    /// The target was built in, started with the run.
    pub builtin_target: bool,
    /// How much load, in which loop.
    pub load: LoadRecord,
    /// Requests per connection; absent where unlimited; 0: handshake only.
    pub requests_per_connection: Option<u32>,
    /// HTTP/2: requests at once on one connection; absent with HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// The client's TLS; absent without TLS.
    pub tls: Option<TlsRecord>,
}

/// What a reader of figures must know of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum LoadRecord {
    /// Virtual users, one operation each at a time.
    Closed {
        /// Virtual users at the beginning.
        connections: u32,
        /// They pause between operations.
        think_time: bool,
        /// Ramps and steps that follow.
        stages: u32,
    },
    /// Arrivals whatever the answers do.
    Open {
        /// At the beginning.
        arrivals_per_second: f64,
        /// `even` or `poisson`.
        arrivals: String,
        /// Most connections at a time.
        max_connections: u32,
        /// Ramps and steps that follow.
        stages: u32,
    },
}

/// The client's TLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlsRecord {
    /// `full`, `once` or `none`.
    pub verify: String,
    /// `fresh` or `cheap`.
    pub key_exchange: String,
    /// `first` or `remembered`: the group that key shares were sent for; empty in results of
    /// versions that did not keep it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key_share: String,
    /// Share of new connections that were to offer a session; 0: never.
    pub resumption_share: f64,
    /// Requests were to go out as early data, where a session allowed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
}

impl PlanRecord {
    /// `text` is the plan as the user gave it, already without secrets ([`plan::masked`]).
    #[must_use]
    pub fn new(plan: &Plan, text: String) -> PlanRecord {
        PlanRecord {
            text,
            canonical_text: plan.masked_text(),
            digest: plan.digest().to_string(),
            url: plan.target().url.to_string(),
            builtin_target: plan.target().builtin.is_some(),
            load: LoadRecord::from_plan(plan),
            requests_per_connection: match plan.connection().requests {
                RequestsPerConnection::HandshakeOnly => Some(0),
                RequestsPerConnection::Limited(number) => Some(number.get()),
                RequestsPerConnection::Unlimited => None,
            },
            streams: match plan.connection().http {
                HttpVersion::Http11 => None,
                HttpVersion::Http2 { streams } => Some(streams),
            },
            tls: plan.tls().map(TlsRecord::from_tls),
        }
    }

    /// How the client saved work that a careful one does; empty for a careful client.
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
    fn from_plan(plan: &Plan) -> LoadRecord {
        let stages = u32::try_from(plan.load().stages.len()).unwrap_or(u32::MAX);
        match &plan.load().shape {
            Shape::Closed {
                connections,
                think_time,
            } => LoadRecord::Closed {
                connections: *connections,
                think_time: think_time.is_some(),
                stages,
            },
            Shape::Open {
                rate,
                arrivals,
                max_connections,
            } => LoadRecord::Open {
                arrivals_per_second: rate.as_per_second(),
                arrivals: arrivals.word().to_owned(),
                max_connections: *max_connections,
                stages,
            },
        }
    }
}

impl TlsRecord {
    fn from_tls(tls: &plan::Tls) -> TlsRecord {
        TlsRecord {
            verify: tls.verify.word().to_owned(),
            key_exchange: tls.key_exchange.word().to_owned(),
            key_share: tls.key_share.word().to_owned(),
            resumption_share: match tls.resumption {
                Resumption::Never => 0.0,
                Resumption::Share { share, .. } => share,
            },
            early_data: tls.early_data,
        }
    }
}

/// Results of earlier versions hold values of secret headers.
pub(crate) fn masked<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    String::deserialize(text).map(|text| plan::masked(&text))
}

#[cfg(test)]
mod tests {
    use super::PlanRecord;
    use plan::{Files, Plan};

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
            Err("there are none".to_owned())
        }

        fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
            Err("there are none".to_owned())
        }
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
