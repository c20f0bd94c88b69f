//! The funnels of a worker's current interval.

use crate::{Funnel, JourneyCell, Period};
use std::collections::BTreeMap;

const PERIODS: [Period; 2] = [Period::WarmUp, Period::Measured];

/// Funnels by journey, then period. Of a plan without journeys it takes no memory.
#[derive(Debug, Default)]
pub(crate) struct HotFunnels(Vec<Funnel>);

impl HotFunnels {
    /// The funnel of a journey in a part of the run.
    #[inline]
    pub(crate) fn at(&mut self, cell: JourneyCell) -> &mut Funnel {
        let place = usize::from(cell.journey) * PERIODS.len() + cell.period as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Funnel::default);
        }
        &mut self.0[place]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Funnel::is_empty)
    }

    /// Adds everything to `funnels` and clears it, memory kept.
    pub(crate) fn drain_into(&mut self, funnels: &mut BTreeMap<JourneyCell, Funnel>) {
        for (place, funnel) in self.0.iter_mut().enumerate() {
            if funnel.is_empty() {
                continue;
            }
            let journey = u16::try_from(place / PERIODS.len()).expect("it was made for a u16");
            let period = PERIODS[place % PERIODS.len()];
            let cell = JourneyCell { period, journey };
            funnels.entry(cell).or_default().merge(funnel);
            funnel.clear();
        }
    }
}
