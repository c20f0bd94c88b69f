//! What the agents' load loops say of themselves, in the measured part.

use crate::{Headline, HistogramColumns, TimeFigure};
use measure::Client;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the agents' load loops say of themselves, in the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientFigures {
    /// From a ready socket to its handling, at most: what response times hold of the client's own.
    /// Absent where nothing was ready.
    pub loop_lag: Option<TimeFigure>,
}

impl ClientFigures {
    pub(crate) fn new(client: &Client) -> ClientFigures {
        ClientFigures {
            loop_lag: loop_lag(client),
        }
    }
}

pub(crate) fn loop_lag(client: &Client) -> Option<TimeFigure> {
    let lag = &client.loop_lag;
    (!lag.is_empty()).then(|| TimeFigure::new(&Headline::exact(lag), HistogramColumns::Omitted))
}
