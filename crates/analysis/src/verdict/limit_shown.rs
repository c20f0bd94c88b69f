//! What a run shows of its limit, as others cite it that look at several runs.

use super::{LimitOf, RuleReading, throughput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit that a rule of a run's verdict shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitShown {
    /// Whose.
    pub limit_of: LimitOf,
    /// The rule: what is used up.
    pub rule: String,
    /// What it saw, with the machine that showed it.
    pub figure: String,
    /// From where on it speaks.
    pub bound: String,
}

impl LimitShown {
    /// Of a reading that speaks.
    pub(super) fn new(reading: &RuleReading) -> Option<LimitShown> {
        reading.says.as_ref().map(|_| LimitShown {
            limit_of: reading.limit_of,
            rule: reading.rule.to_owned(),
            figure: reading.figure.clone(),
            bound: reading.bound.clone(),
        })
    }

    /// With its bound, in a sentence.
    pub(crate) fn evidence(&self) -> String {
        format!("{} (bound: {})", self.figure, self.bound)
    }

    /// `the server: its CPU quota (…)`; nothing where no limit is shown.
    pub(crate) fn in_words(limits: &[LimitShown]) -> Option<String> {
        let has = |whose| limits.iter().any(|limit| limit.limit_of == whose);
        let whose = match (has(LimitOf::Server), has(LimitOf::Network)) {
            (true, true) => "the server or the network, which contradict each other",
            (true, false) => "the server",
            (false, true) => "the network",
            (false, false) if has(LimitOf::Plan) => "the plan",
            (false, false) => "the client",
        };
        // What is used up says more than that throughput stopped; of machines that show the same,
        // the first one shows it most.
        let is_general = |limit: &&LimitShown| limit.rule == throughput::RULE;
        let mut named: Vec<&LimitShown> = Vec::new();
        for limit in limits.iter().filter(|limit| !is_general(limit)) {
            if named.iter().all(|known| known.rule != limit.rule) {
                named.push(limit);
            }
        }
        if named.is_empty() {
            named.push(limits.iter().find(is_general)?);
        }
        let told: Vec<String> = named.into_iter().map(LimitShown::resource).collect();
        let told = told.join(", ");
        Some(format!("{whose}: {told}"))
    }

    fn resource(&self) -> String {
        let rule = &self.rule;
        let owned = ["server's ", "plan's "].iter();
        let resource = match owned.filter_map(|owner| rule.strip_prefix(owner)).next() {
            Some(part) => format!("its {part}"),
            None if rule == throughput::RULE => {
                "its throughput stopped following the load".to_owned()
            }
            None => rule.clone(),
        };
        format!("{resource} ({})", self.figure)
    }
}
