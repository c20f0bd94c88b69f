//! What this program has of a load machine: agents on this machine, and the parts of one that the
//! coordinator uses itself. A build without the feature `load` has neither, and needs no Linux.

#[cfg(feature = "load")]
pub(crate) use agent::{TokenKeeper, TokenNews, map_file, parse_allowed, unusable_certificate};
#[cfg(not(feature = "load"))]
pub(crate) use without_load::{
    AbsentKeeper as TokenKeeper, AbsentNews as TokenNews, map_file, parse_allowed,
    unusable_certificate,
};

use plan::{Campaign, Plan, TokenHolder};

/// Says why a build without agents cannot run what a file asks for; `None` if it can.
pub(crate) fn lack(campaign: &Campaign, is_local: bool) -> Option<&'static str> {
    if cfg!(feature = "load") {
        return None;
    }
    let plans = || campaign.variants().iter().map(|variant| &variant.plan);
    if is_local || plans().any(|plan| plan.target().builtin.is_some()) {
        return Some(NO_AGENTS);
    }
    plans().any(has_fleet_tokens).then_some(NO_TOKENS)
}

fn has_fleet_tokens(plan: &Plan) -> bool {
    let mut requests = plan.token_requests();
    requests.any(|(_, request)| request.per == TokenHolder::Fleet)
}

const NO_AGENTS: &str = "this coordinator was built without agents: run `agent join` on Linux \
                         machines, and `coordinator start` here, without --local and \
                         target.builtin";

const NO_TOKENS: &str = "this coordinator was built without what fetches tokens; write per = \
                         \"agent\" beside them, or use a coordinator on Linux";

#[cfg(not(feature = "load"))]
mod without_load {
    use super::NO_TOKENS;
    use host::Sampler;
    use plan::{MapError, MappedFile, Plan};
    use secret::Secret;
    use std::fs::File;
    use std::time::Instant;

    /// No certificate is tried: agents do that before a run.
    pub(crate) fn unusable_certificate<'p>(_: impl Iterator<Item = &'p Plan>) -> Option<String> {
        None
    }

    /// Only local agents have a policy.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "as with agents, where it can fail"
    )]
    pub(crate) fn parse_allowed(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    /// Maps a file, with its copy in the memory that this machine has left, if it says how much.
    pub(crate) fn map_file(file: File) -> Result<MappedFile, MapError> {
        let limits = Sampler::new().limits(&[]);
        MappedFile::map(file, limits.map_or(u64::MAX, |limits| limits.memory_bytes))
    }

    /// Never made.
    pub(crate) enum AbsentKeeper {}

    /// Never told.
    pub(crate) enum AbsentNews {
        #[expect(dead_code, reason = "no token is fetched")]
        Came {
            text: Secret<String>,
            expires_at: Option<Instant>,
        },
        #[expect(dead_code, reason = "no token is fetched")]
        Missed { told: Option<String> },
    }

    impl AbsentKeeper {
        /// Keeps none; plans that have some were refused before.
        pub(crate) fn of_fleet(
            plan: &Plan,
            _: impl Fn(usize, AbsentNews) + Send + Sync + 'static,
        ) -> Result<Option<AbsentKeeper>, String> {
            match super::has_fleet_tokens(plan) {
                true => Err(NO_TOKENS.to_owned()),
                false => Ok(None),
            }
        }
    }
}
