//! Response times of a row of a series. They are packed once few values still arrive, so that an
//! hour of rows takes little memory; the figures of packed ones are kept beside them.

use crate::{Headline, PercentileFigure};
use measure::{Distribution, Metric, Outcome, PackedHistogram};

/// Response times of a row, unpacked while values still arrive.
#[derive(Debug, Clone)]
pub(crate) enum ResponseTimes {
    Open(Headline),
    /// `headline` lacks its histogram, which is in `packed`.
    Packed {
        headline: Headline,
        packed: PackedHistogram,
        figures: ResponseFigures,
    },
}

/// A row's figures of its response times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseFigures {
    pub(crate) count: u64,
    pub(crate) mean_ns: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) p99_at_least: bool,
    pub(crate) p50_at_least: bool,
    pub(crate) is_cut_short: bool,
}

impl Default for ResponseTimes {
    fn default() -> ResponseTimes {
        ResponseTimes::Open(Headline::default())
    }
}

impl ResponseTimes {
    pub(crate) fn take(&mut self, outcome: Outcome, distribution: &Distribution) {
        match self {
            ResponseTimes::Open(headline) => {
                headline.take(outcome, Metric::ResponseTime, distribution);
            }
            ResponseTimes::Packed { .. } => {
                let mut values = Headline::default();
                values.take(outcome, Metric::ResponseTime, distribution);
                self.merge(&values);
            }
        }
    }

    pub(crate) fn merge(&mut self, values: &Headline) {
        match self {
            ResponseTimes::Open(headline) => headline.merge(values),
            ResponseTimes::Packed { .. } => {
                let mut headline = self.unpack();
                headline.merge(values);
                *self = ResponseTimes::Open(headline);
                self.pack();
            }
        }
    }

    pub(crate) fn pack(&mut self) {
        if let ResponseTimes::Open(headline) = self {
            let figures = ResponseFigures::new(headline);
            let mut headline = std::mem::take(headline);
            let histogram = std::mem::take(&mut headline.distribution.histogram);
            *self = ResponseTimes::Packed {
                headline,
                packed: PackedHistogram::from(&histogram),
                figures,
            };
        }
    }

    pub(crate) fn unpack(&self) -> Headline {
        match self {
            ResponseTimes::Open(headline) => headline.clone(),
            ResponseTimes::Packed {
                headline, packed, ..
            } => {
                let distribution = Distribution {
                    histogram: packed.unpack(),
                    ..headline.distribution.clone()
                };
                Headline {
                    distribution,
                    ..headline.clone()
                }
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self, ResponseTimes::Packed { .. })
    }

    pub(crate) fn figures(&self) -> ResponseFigures {
        match self {
            ResponseTimes::Open(headline) => ResponseFigures::new(headline),
            ResponseTimes::Packed { figures, .. } => *figures,
        }
    }
}

impl ResponseFigures {
    fn new(headline: &Headline) -> ResponseFigures {
        let [p50, p90, p99, p999] = [50.0, 90.0, 99.0, 99.9].map(|at| headline.percentile(at));
        let value = |figure: Option<PercentileFigure>| figure.map_or(0, |figure| figure.value_ns);
        let at_least =
            |figure: Option<PercentileFigure>| figure.is_some_and(|figure| figure.at_least);
        ResponseFigures {
            count: headline.distribution.count,
            mean_ns: headline.distribution.mean().unwrap_or(0.0),
            p50_ns: value(p50),
            p90_ns: value(p90),
            p99_ns: value(p99),
            p999_ns: value(p999),
            max_ns: headline.distribution.max,
            p99_at_least: at_least(p99),
            p50_at_least: at_least(p50),
            is_cut_short: headline.is_cut_short(),
        }
    }
}
