//! Figures of the agents' load loops themselves, in the measured part.

use crate::{Headline, HistogramColumns, SigningFigures, TimeFigure};
use measure::Client;
use serde::{Deserialize, Serialize};

/// Figures of the agents' load loops themselves, in the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientFigures {
    /// Upper bound on the time from a socket becoming ready until it was handled: the client's own
    /// part of response times. Absent if no socket became ready.
    pub loop_lag: Option<TimeFigure>,
    /// CPU time that load threads spent on digests and signatures; absent if requests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningFigures>,
}

impl ClientFigures {
    pub(crate) fn new(client: &Client, signing: Option<SigningFigures>) -> ClientFigures {
        ClientFigures {
            loop_lag: loop_lag(client),
            signing,
        }
    }
}

pub(crate) fn loop_lag(client: &Client) -> Option<TimeFigure> {
    let lag = &client.loop_lag;
    (!lag.is_empty()).then(|| TimeFigure::new(&Headline::exact(lag), HistogramColumns::Omitted))
}
