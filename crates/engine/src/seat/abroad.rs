//! Seats for the connections that redirects lead to: one for each seat and origin, as a browser
//! has connections of its own for each origin.

use super::{SeatRole, SeatTable};
use crate::slot::Slot;

impl SeatTable {
    /// Moves the operation of `slot`, which is on a serving seat or abroad, to where it is sent to
    /// `origin`. Returns its slot there, or `None` if there is no operation.
    pub(crate) fn travel(&mut self, slot: u32, origin: u16) -> Option<u32> {
        let home = self.home_slot(slot);
        let to = match origin {
            0 => home,
            _ => self.slot_abroad(home, origin),
        };
        let Slot::Busy { operation, .. } = std::mem::take(&mut self.slots[slot as usize]) else {
            return None; // an answer implies an operation
        };
        if to != home {
            self.slots[home as usize] = Slot::Away;
        }
        self.slots[to as usize].begin(operation);
        Some(to)
    }

    /// The operation of `slot`, abroad, is over: its home can go on. Returns that slot.
    pub(crate) fn come_home(&mut self, slot: u32) -> u32 {
        let home = self.home_slot(slot);
        self.slots[home as usize] = Slot::Free;
        home
    }

    /// The seats abroad of `home`.
    pub(crate) fn seats_abroad(&self, home: u32) -> Vec<u32> {
        let seats = self.abroad.range((home, 0)..=(home, u16::MAX));
        seats.map(|(_, &seat)| seat).collect()
    }

    /// The slot of the user or arrival whose operation `slot` has: its own, unless that operation
    /// is on a draining connection or abroad.
    pub(crate) fn user_slot(&self, slot: u32) -> u32 {
        self.home_slot(self.home_of(slot).unwrap_or(slot))
    }

    fn home_slot(&self, slot: u32) -> u32 {
        match self.seats[self.seat_of(slot) as usize].role {
            SeatRole::Abroad { home, .. } => self.of_seat(home).start + self.lane_of(slot),
            SeatRole::Serving | SeatRole::Draining { .. } | SeatRole::Vacant => slot,
        }
    }

    /// The slot for the operations of `home` that go to `origin`.
    fn slot_abroad(&mut self, home: u32, origin: u16) -> u32 {
        let seat = self.seat_of(home);
        let known = self.abroad.get(&(seat, origin)).copied();
        let abroad = known.unwrap_or_else(|| {
            let added = self.add(self.user(seat));
            self.others += 1;
            self.seats[added as usize].role = SeatRole::Abroad { home: seat, origin };
            self.abroad.insert((seat, origin), added);
            added
        });
        self.of_seat(abroad).start + self.lane_of(home)
    }
}
