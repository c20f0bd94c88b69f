//! Keeps the current target of each operation that follows redirects. Others have nothing here.

use std::num::NonZeroU32;

/// The place of a [`Hop`]: an operation carries this along, wherever it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HopId(NonZeroU32);

/// What an operation sends in the place of its planned request, since it was redirected.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// Where it goes, by place among the target's destinations.
    pub(crate) origin: u16,
    /// Path and query.
    pub(crate) target: Vec<u8>,
    pub(crate) form: HopForm,
    /// Redirects followed so far.
    pub(crate) followed: u8,
    /// When the operation's first request was sent: its time-out runs from then on.
    pub(crate) since: u64,
}

/// How much is left of the planned request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HopForm {
    /// Method, fields and body are as planned.
    Planned,
    /// The method has become GET, without a body and the fields that describe one.
    Get,
}

impl HopForm {
    /// The form of the request that follows a redirect with `status`, which answered a request of
    /// this form and `method` (RFC 9110 §15.4).
    pub(crate) fn after(self, status: u16, method: &str) -> HopForm {
        match (status, method) {
            (301 | 302, "POST") => HopForm::Get,
            (303, "HEAD") => self,
            (303, _) => HopForm::Get,
            _ => self,
        }
    }
}

/// The hops of a worker's operations.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    hops: Vec<Option<Hop>>,
    free: Vec<HopId>,
}

impl Hops {
    pub(crate) fn get(&self, id: HopId) -> Option<&Hop> {
        self.hops.get(id.place())?.as_ref()
    }

    /// Keeps the hop of an operation, in the place of the one before.
    pub(crate) fn put(&mut self, before: Option<HopId>, hop: Hop) -> HopId {
        let id = before.or_else(|| self.free.pop());
        let id = id.unwrap_or_else(|| {
            self.hops.push(None);
            // There are as many as operations at once, which are counted as `u32`.
            let number = NonZeroU32::new(self.hops.len() as u32);
            HopId(number.expect("one was just added"))
        });
        self.hops[id.place()] = Some(hop);
        id
    }

    /// Drops the hop of an operation that has ended.
    pub(crate) fn remove(&mut self, id: HopId) {
        self.hops[id.place()] = None;
        self.free.push(id);
    }
}

impl HopId {
    fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_change_as_the_standard_says() {
        for (status, method, form) in [
            (301, "GET", HopForm::Planned),
            (301, "POST", HopForm::Get),
            (302, "POST", HopForm::Get),
            (301, "PUT", HopForm::Planned),
            (302, "HEAD", HopForm::Planned),
            (303, "POST", HopForm::Get),
            (303, "PUT", HopForm::Get),
            (303, "HEAD", HopForm::Planned),
            (307, "POST", HopForm::Planned),
            (308, "POST", HopForm::Planned),
        ] {
            let after = HopForm::Planned.after(status, method);
            assert_eq!(after, form, "{status} {method}");
            assert_eq!(HopForm::Get.after(status, method), HopForm::Get);
        }
    }

    #[test]
    fn places_are_used_again_and_mixed_up_with_no_other() {
        let hop = |followed| Hop {
            origin: 0,
            target: vec![followed],
            form: HopForm::Planned,
            followed,
            since: 0,
        };
        let mut hops = Hops::default();
        let (a, b) = (hops.put(None, hop(1)), hops.put(None, hop(2)));
        assert_eq!(hops.put(Some(a), hop(3)), a);
        let followed = |hops: &Hops, id| hops.get(id).map(|hop| hop.followed);
        assert_eq!([followed(&hops, a), followed(&hops, b)], [Some(3), Some(2)]);
        hops.remove(a);
        assert_eq!(followed(&hops, a), None);
        assert_eq!((hops.put(None, hop(4)), hops.hops.len()), (a, 2));
    }
}
