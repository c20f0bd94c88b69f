//! What this program has of a load machine: agents on this machine, and the parts of one that the
//! coordinator uses itself. A build without the feature `load` has neither, and needs no Linux.

#[cfg(feature = "load")]
pub(crate) use agent::{TokenKeeper, TokenNews, map_file, parse_allowed, unusable_certificate};
#[cfg(not(feature = "load"))]
pub(crate) use without_load::{
    AbsentKeeper as TokenKeeper, AbsentNews as TokenNews, map_file, parse_allowed,
    unusable_certificate,
};

/// Why there are no agents on this machine, if there are none.
pub(crate) const LACKING: Option<&str> = if cfg!(feature = "load") {
    None
} else {
    Some(
        "this coordinator was built without agents: run `agent join` on Linux machines, and \
         `coordinator start` here, without --local and target.builtin",
    )
};

#[cfg(not(feature = "load"))]
mod without_load {
    use plan::{MapError, MappedFile, Plan, TokenHolder};
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

    /// Maps a file. How much memory is left is not asked: only the plan is checked here.
    pub(crate) fn map_file(file: File) -> Result<MappedFile, MapError> {
        MappedFile::map(file, u64::MAX)
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

    impl Drop for AbsentKeeper {
        fn drop(&mut self) {}
    }

    impl AbsentKeeper {
        /// Refuses plans whose tokens the coordinator would fetch.
        pub(crate) fn of_fleet(
            plan: &Plan,
            _: impl Fn(usize, AbsentNews) + Send + Sync + 'static,
        ) -> Result<Option<AbsentKeeper>, String> {
            let mut requests = plan.token_requests();
            if requests.any(|(_, request)| request.per == TokenHolder::Fleet) {
                return Err(
                    "this coordinator was built without what fetches tokens; write per = \
                            \"agent\" beside them, or use a coordinator on Linux"
                        .to_owned(),
                );
            }
            Ok(None)
        }
    }
}
