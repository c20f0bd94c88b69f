//! Several agents and one result: nothing is lost or counted twice, and agents stay for more runs.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod identities;
mod merge;
mod monitors;
mod namespaces;
mod profiles;
mod staying;

/// How many of `total` operations each of `agents` performs: those of its virtual users.
fn shares(total: u64, users: u64, agents: u64) -> Vec<u64> {
    let part = |of: u64, parts: u64, index: u64| of * (index + 1) / parts - of * index / parts;
    let mut shares = vec![0; agents as usize];
    // Full rounds over all users go to every agent; the rest goes to agents with one user more.
    let with_more = (0..agents).filter(|&agent| part(users, agents, agent) > users / agents);
    let full = (0..users / agents * agents).map(|user| user % agents);
    for (user, agent) in (0..).zip(full.chain(with_more)) {
        shares[agent as usize] += part(total, users, user);
    }
    shares
}
