//! Which files of a run each agent needs.

use crate::{Audience, RunFile};
use std::collections::BTreeMap;

/// Places of files in the request, grouped by the agents that need them, so that a large fleet
/// needs no search through the files of all agents.
#[derive(Debug)]
pub(super) struct FileLists {
    for_all: Vec<usize>,
    only_for: BTreeMap<u32, Vec<usize>>,
}

impl FileLists {
    pub(super) fn new(files: &[RunFile]) -> FileLists {
        let mut lists = FileLists {
            for_all: Vec::new(),
            only_for: BTreeMap::new(),
        };
        for (place, file) in files.iter().enumerate() {
            match &file.audience {
                Audience::All => lists.for_all.push(place),
                Audience::Only(agents) => agents.iter().for_each(|agent| {
                    lists.only_for.entry(*agent).or_default().push(place);
                }),
            }
        }
        lists
    }

    /// The files that an agent needs.
    pub(super) fn of_agent<'a>(
        &'a self,
        agent: u32,
        files: &'a [RunFile],
    ) -> impl Iterator<Item = &'a RunFile> {
        let own = self.only_for.get(&agent).into_iter().flatten();
        self.for_all.iter().chain(own).map(|place| &files[*place])
    }

    /// Bytes that are sent if every agent lacks all the files it needs.
    pub(super) fn bytes(&self, agents: u32, files: &[RunFile]) -> u64 {
        let size = |place: &usize| files[*place].content.reveal().len() as u64;
        let shared: u64 = self.for_all.iter().map(size).sum();
        let own: u64 = self
            .only_for
            .range(..agents)
            .flat_map(|(_, own)| own)
            .map(size)
            .sum();
        shared.saturating_mul(agents.into()).saturating_add(own)
    }
}
