//! The demands of a run on its fleet: how many agents may be lost, how long to wait for agents, how
//! well clocks must agree.

use crate::words::words;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The demands of a run on its fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetPlan {
    pub(crate) lost: LostAgents,
    pub(crate) tolerate: Tolerance,
    pub(crate) join_timeout: Option<Duration>,
    pub(crate) lease: Duration,
    pub(crate) max_skew: Duration,
}

impl FleetPlan {
    /// Length of a lease, unless the plan sets it.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(5);

    /// Widest error bound of a clock, unless the plan sets it.
    pub const DEFAULT_MAX_SKEW: Duration = Duration::from_millis(50);

    /// How the run reacts to the loss of an agent.
    #[must_use]
    pub fn lost(&self) -> LostAgents {
        self.lost
    }

    /// How many agents may be lost; none with [`LostAgents::Fail`].
    #[must_use]
    pub fn tolerate(&self) -> Tolerance {
        self.tolerate
    }

    /// How long to wait for missing agents; `None` waits without a limit.
    #[must_use]
    pub fn join_timeout(&self) -> Option<Duration> {
        self.join_timeout
    }

    /// How long an agent may continue to fire after it last heard from its coordinator.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// How far an agent's clock may be off.
    #[must_use]
    pub fn max_skew(&self) -> Duration {
        self.max_skew
    }
}

impl Default for FleetPlan {
    fn default() -> FleetPlan {
        FleetPlan {
            lost: LostAgents::Fail,
            tolerate: Tolerance::NONE,
            join_timeout: None,
            lease: FleetPlan::DEFAULT_LEASE,
            max_skew: FleetPlan::DEFAULT_MAX_SKEW,
        }
    }
}

/// How a run reacts to the loss of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAgents {
    /// The run is invalid.
    Fail,
    /// The others continue with their own shares.
    Continue,
    /// The others take over the rest of the lost agent's share.
    Redistribute,
}

words!(LostAgents { Fail => "fail", Continue => "continue", Redistribute => "redistribute" });

impl LostAgents {
    /// How many agents may be lost, unless the plan sets it.
    pub(crate) fn default_tolerance(self) -> Tolerance {
        match self {
            LostAgents::Fail => Tolerance::NONE,
            LostAgents::Continue | LostAgents::Redistribute => Tolerance::ALL_BUT_ONE,
        }
    }
}

/// How many agents of a run may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// This many.
    Agents(u32),
    /// A share of all agents, in parts of a million, so that rounding has no effect: 29 % of 100
    /// are 29.
    Millionths(u32),
}

const MILLION: u32 = 1_000_000;
/// Parts of a million in one percent.
const PERCENT: u32 = MILLION / 100;
/// Digits after the point that a percentage can have.
const DIGITS: usize = 4;

impl Tolerance {
    /// No agent.
    pub const NONE: Tolerance = Tolerance::Agents(0);

    /// All agents but one, since with no agent there is no run.
    pub const ALL_BUT_ONE: Tolerance = Tolerance::Millionths(MILLION);

    /// How many of `agents` may be lost: a share is rounded down, and one agent always remains.
    #[must_use]
    pub fn agents_of(self, agents: u32) -> u32 {
        let most = match self {
            Tolerance::Agents(number) => number,
            Tolerance::Millionths(parts) => {
                let product = u64::from(agents) * u64::from(parts) / u64::from(MILLION);
                u32::try_from(product).unwrap_or(u32::MAX)
            }
        };
        most.min(agents.saturating_sub(1))
    }
}

impl fmt::Display for Tolerance {
    /// The form in the canonical text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Agents(number) => write!(f, "{number}"),
            Tolerance::Millionths(parts) => {
                let digits = format!("{:0DIGITS$}", parts % PERCENT);
                let digits = digits.trim_end_matches('0');
                let point = if digits.is_empty() { "" } else { "." };
                write!(f, "\"{}{point}{digits}%\"", parts / PERCENT)
            }
        }
    }
}

/// Why a text is not a percentage of agents. The message continues a sentence that starts with the
/// value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToleranceError {
    /// It has another form.
    #[error("is no part of a fleet; write a number of agents such as 2, or a share such as \"1%\"")]
    Form,
    /// It has more digits than are used.
    #[error("is finer than 0.0001%; write at most {DIGITS} digits behind the point")]
    TooFine,
    /// It is more than all agents.
    #[error("is more than all agents; write at most \"100%\", which is all but one")]
    TooLarge,
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Tolerance, ToleranceError> {
        let number = text.trim().strip_suffix('%').ok_or(ToleranceError::Form)?;
        let number = number.trim_end();
        let (whole, digits) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(digits) {
            return Err(ToleranceError::Form);
        }
        let digits = digits.trim_end_matches('0');
        if digits.len() > DIGITS {
            return Err(ToleranceError::TooFine);
        }
        // It contains only digits, so this fails only if the number is too large.
        let all: u64 = format!("{whole}{digits:0<DIGITS$}")
            .parse()
            .map_err(|_| ToleranceError::TooLarge)?;
        match u32::try_from(all) {
            Ok(0) => Ok(Tolerance::NONE),
            Ok(parts) if parts <= MILLION => Ok(Tolerance::Millionths(parts)),
            _ => Err(ToleranceError::TooLarge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, ToleranceError};

    #[test]
    fn shares_of_a_fleet_are_rounded_down_and_one_agent_remains() {
        let cases = [
            ("0.5%", 3, 0),
            ("0.5%", 200, 1),
            ("1%", 99, 0),
            ("1%", 1000, 10),
            ("29%", 100, 29),
            ("33.3333%", 3, 0),
            ("33.34%", 3, 1),
            ("100%", 3, 2),
            ("100%", 1, 0),
            ("100%", 0, 0),
            ("100%", u32::MAX, u32::MAX - 1),
            ("0.0001%", 1_000_000, 1),
            ("0%", 1000, 0),
        ];
        for (text, agents, lost) in cases {
            let tolerance: Tolerance = text.parse().unwrap();
            assert_eq!(tolerance.agents_of(agents), lost, "{text} of {agents}");
        }
        for (number, agents, lost) in [(2, 3, 2), (2, 2, 1), (5, 1, 0), (0, 9, 0)] {
            assert_eq!(Tolerance::Agents(number).agents_of(agents), lost);
        }
    }

    #[test]
    fn shares_are_written_as_they_are_read() {
        for (text, written) in [
            ("1%", "\"1%\""),
            ("0.50 %", "\"0.5%\""),
            ("012.3400%", "\"12.34%\""),
            ("0.0001%", "\"0.0001%\""),
            ("100.000%", "\"100%\""),
            ("0.0%", "0"),
        ] {
            let tolerance: Tolerance = text.parse().unwrap();
            assert_eq!(tolerance.to_string(), written);
            if let Some(inner) = written.strip_prefix('"') {
                assert_eq!(inner.trim_end_matches('"').parse(), Ok(tolerance));
            }
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for (text, error) in [
            ("1", ToleranceError::Form),
            ("%", ToleranceError::Form),
            ("-1%", ToleranceError::Form),
            ("1.%", ToleranceError::Form),
            (".5%", ToleranceError::Form),
            ("1e1%", ToleranceError::Form),
            ("0.00001%", ToleranceError::TooFine),
            ("100.0001%", ToleranceError::TooLarge),
            ("99999999999999999999%", ToleranceError::TooLarge),
        ] {
            assert_eq!(text.parse::<Tolerance>(), Err(error), "{text}");
        }
    }
}
