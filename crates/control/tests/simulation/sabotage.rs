//! Defects that are introduced on purpose, and the invariants that must notice them.

/// What must hold in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// No agent fires without a lease that a coordinator granted to it.
    FireNeedsLease,
    /// Firing ends within a lease and a second after the last coordinator is gone.
    FireEndsWithItsCoordinator,
    /// No agent fires unless every agent of the run knows the start instant, or was given up.
    AllArmedOrNobodyFires,
    /// Nothing is acknowledged that is not durable.
    AcknowledgedIsStored,
    /// An interval, or a second of a machine, is in the log at most once, as its agent made it;
    /// seconds are there in order.
    CountedOnce,
    /// If an agent has ended, everything it made is in the log, or named as missing. Of seconds of
    /// its machine only the last ones may be missing.
    CompleteOrNamed,
    /// No part of the load is fired by two agents.
    NoShareTwice,
    /// Every part of the load is fired by an agent, or the log says that it is not.
    NoShareForgotten,
    /// An agent obeys no older coordinator of its run.
    NewestCoordinatorAlone,
    /// No agent serves two runs at once.
    AgentServesOneRun,
    /// Every run comes to an end.
    NobodyHangs,
    /// An agent that is given up while it is away fires no more.
    LostFiresNoMore,
    /// What waits for storage is bounded.
    BoundedBacklog,
    /// Agents begin as close to each other as is reported.
    SkewIsTold,
    /// Events come in an order that makes sense.
    EventsMakeSense,
    /// What a run's model says of its agents is what they did.
    ModelIsTrue,
    /// A run's log gives the same model as its events did when they came.
    LogGivesTheModel,
    /// Nothing panics.
    NothingPanics,
}

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// Intervals are delivered to the caller of another run.
    DeliversToTheOtherRun,
    /// A run begins on an agent that serves another.
    ChoosesABusyAgent,
    /// The coordinator acknowledges what is written before it is synced.
    AcknowledgesBeforeTheSync,
    /// Something in between answers beats with a lease, whether the coordinator is there or not.
    AnswersForTheCoordinator,
    /// Leases are twenty times as long as the plan says.
    GrantsTooMuch,
    /// The runner ignores the lease, and hears no stop.
    FiresAfterExpiry,
    /// An interval is written twice.
    WritesAnIntervalTwice,
    /// An interval is not written, but reported as written.
    DropsARecord,
    /// A second of a machine is written twice.
    WritesASecondTwice,
    /// A second of a machine is not written, but reported as written.
    DropsASecond,
    /// A byte of an interval changes on its way.
    ChangesAByte,
    /// An agent forgets an interval that it made.
    ForgetsAnInterval,
    /// An agent forgets a second of its machine.
    ForgetsASecond,
    /// A coordinator that takes a run up does not increase the epoch.
    KeepsTheEpoch,
    /// An agent does not hear of the part of a share that it should take over, and the coordinator
    /// is told that it did.
    ForgetsAShare,
    /// A part of a share is given to a second agent too.
    DealsAShareTwice,
    /// The coordinator believes that an agent knows the start instant, but the agent was not told.
    ForgesAnArmed,
    /// Time stands still for the fleet from some instant on.
    StopsTicking,
    /// An agent takes what it sent as acknowledged.
    IgnoresTheWindow,
    /// An agent is told an instant of the coordinator's clock that is off by 0.2 s.
    LiesAboutTheClock,
    /// An agent's end is written twice.
    TellsAnEndTwice,
    /// The model of a run does not take the ends of agents.
    ModelMissesAnEnd,
    /// The model of a run does not take the beginnings of agents.
    ModelMissesABeginning,
}
