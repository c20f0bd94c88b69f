//! A limit that a run shows, in the form in which analyses of several runs cite it.

use super::{LimitOf, RuleId, RuleReading};
use serde::{Deserialize, Serialize};

/// A limit that a rule of a run's verdict shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitShown {
    /// The side whose limit it is.
    pub limit_of: LimitOf,
    /// The name of the rule, which says what is used up. A result of another version can name a
    /// rule that this one does not know.
    pub rule: String,
    /// The figure that the rule saw, and the machine that showed it.
    pub figure: String,
    /// The bound from which the rule fires.
    pub bound: String,
}

impl LimitShown {
    /// Returns the limit of a reading that fired.
    pub(super) fn new(reading: &RuleReading) -> Option<LimitShown> {
        reading.says.as_ref().map(|_| LimitShown {
            limit_of: reading.rule.limit_of(),
            rule: reading.rule.name().to_owned(),
            figure: reading.figure.clone(),
            bound: reading.bound.to_string(),
        })
    }

    /// Formats the figure with its bound.
    pub(crate) fn evidence(&self) -> String {
        format!("{} (bound: {})", self.figure, self.bound)
    }

    /// Formats limits like `the server: its CPU quota (…)`; `None` if there are none.
    pub(crate) fn in_words(limits: &[LimitShown]) -> Option<String> {
        let has = |whose| limits.iter().any(|limit| limit.limit_of == whose);
        let whose = match (has(LimitOf::Server), has(LimitOf::Network)) {
            (true, true) => "the server or the network, which contradict each other",
            (true, false) => "the server",
            (false, true) => "the network",
            (false, false) if has(LimitOf::Plan) => "the plan",
            (false, false) => "the client",
        };
        // A resource that is used up says more than that throughput stopped. Of machines that show
        // the same resource, the first one shows it most.
        let is_general = |limit: &&LimitShown| limit.rule == RuleId::Throughput.name();
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
        let rule = self.rule.as_str();
        let owned = ["server's ", "plan's "].iter();
        let resource = match owned.filter_map(|owner| rule.strip_prefix(owner)).next() {
            Some(part) => format!("its {part}"),
            None if rule == RuleId::Throughput.name() => {
                "its throughput stopped following the load".to_owned()
            }
            None => rule.to_owned(),
        };
        format!("{resource} ({})", self.figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of another version may have saved a rule that this one does not have.
    #[test]
    fn rule_of_another_version_is_named() {
        let limit = LimitShown {
            limit_of: LimitOf::Server,
            rule: "server's patience".to_owned(),
            figure: "gone".to_owned(),
            bound: "1".to_owned(),
        };
        let words = LimitShown::in_words(&[limit]).unwrap();
        assert_eq!(words, "the server: its patience (gone)");
    }
}
