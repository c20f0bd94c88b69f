//! Which operations of a closed loop belong to a worker, and their numbers.

use crate::{Deal, End, Load, Portion, Seats};
use std::sync::Arc;

/// Operations of taken-over users are numbered from here on, times the number of deals in between:
/// how far the lost agent got is unknown, and no two operations may share a number.
const TAKEN_FROM: u64 = 1_000_000_000_000;

/// The operations that a worker's virtual users begin in one part of the run, each with its number
/// in the cluster.
///
/// Operations are dealt to all users of the cluster by [`Deal`], one each per round, and a worker
/// has those of its users. So a fixed number of operations takes as few rounds as its users need,
/// however unevenly they are spread over agents and workers. Which of a worker's users begins which
/// operation is not fixed: a user that is answered sooner takes more.
#[derive(Debug, Clone)]
pub struct UserOperations {
    users: Arc<[u32]>,
    deal: Deal,
    /// Number of the first operation of the whole cluster.
    from: u64,
    round: u64,
    /// Index in `users` of the next one in this round.
    turn: usize,
    left: Option<u64>,
}

impl UserOperations {
    /// The operations of the measured part: as many as the plan asks for, or endless.
    #[must_use]
    pub fn after_warm_up(load: &Load, portion: &Portion) -> UserOperations {
        let total = match load.end {
            End::Requests(total) => Some(total),
            End::Duration(_) => None,
        };
        let seats = Seats::users(load, portion);
        let users: Arc<[u32]> = seats.iter().collect();
        let deal = Deal::new(total, load.peak_users().unwrap_or(0));
        let deals = portion.parts.len() as u64 * u64::from(portion.agents);
        UserOperations {
            left: total.map(|_| users.iter().filter_map(|&user| deal.amount(user)).sum()),
            users,
            deal,
            from: TAKEN_FROM.wrapping_mul(deals),
            round: 0,
            turn: 0,
        }
    }

    /// The operations of the same users in the warm-up, which only ends by time. They are numbered
    /// from 0 as well.
    #[must_use]
    pub fn warm_up(&self) -> UserOperations {
        UserOperations {
            deal: Deal::new(None, self.deal.parts()),
            left: None,
            round: 0,
            turn: 0,
            ..self.clone()
        }
    }

    /// How many may still begin; `None` if there is no limit.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        self.left
    }
}

impl Iterator for UserOperations {
    type Item = u64;

    // Left to the compiler, virtual users who share connections would cost all others a call.
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        loop {
            let user = *self.users.get(self.turn)?;
            let number = self.deal.item(user, self.round);
            self.turn += 1;
            if self.turn == self.users.len() {
                self.turn = 0;
                self.round += 1;
            }
            // Not every user has one in the last round.
            if let Some(number) = number {
                return Some(self.from.wrapping_add(number));
            }
        }
    }
}
