//! Defects that are put in on purpose, and the invariants that must notice them.

/// What must hold in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// Nobody fires without a lease that a coordinator granted to it.
    FireNeedsLease,
    /// Fire ends a lease and a second after the last coordinator is gone.
    FireEndsWithItsCoordinator,
    /// Nobody fires unless every agent of the run knows the start instant, or is given up.
    AllArmedOrNobodyFires,
    /// Nothing is acknowledged that is not durable.
    AcknowledgedIsStored,
    /// An interval is in the log once at most, as its agent made it.
    CountedOnce,
    /// What an agent made that has ended is in the log, or named as missing.
    CompleteOrNamed,
    /// No part of the load is fired by two agents.
    NoShareTwice,
    /// Every part of the load is fired by somebody, or the log says that it is not.
    NoShareForgotten,
    /// An agent does nothing that an older coordinator of its run says.
    NewestCoordinatorAlone,
    /// Every run comes to an end.
    NobodyHangs,
    /// Who is given up while it is away fires no more.
    LostFiresNoMore,
    /// What waits for storage is bounded.
    BoundedBacklog,
    /// Agents begin as near each other as is told.
    SkewIsTold,
    /// Events come in an order that makes sense.
    EventsMakeSense,
    /// Nothing panics.
    NothingPanics,
}

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The coordinator acknowledges what is written before it is synced.
    AcknowledgesBeforeTheSync,
    /// Something between answers beats with a lease, whether the coordinator is there or not.
    AnswersForTheCoordinator,
    /// Leases are twenty times as long as the plan says.
    GrantsTooMuch,
    /// Whoever fires does not look at the lease, and hears no stop.
    FiresAfterExpiry,
    /// An interval is written twice.
    WritesAnIntervalTwice,
    /// An interval is not written, but said to be.
    DropsARecord,
    /// A byte of an interval changes on its way.
    ChangesAByte,
    /// An agent forgets an interval that it made.
    ForgetsAnInterval,
    /// A coordinator that takes a run up counts no further.
    KeepsTheEpoch,
    /// An agent is not told of the part of a share that it takes over, and the coordinator is told
    /// that it was.
    ForgetsAShare,
    /// A part of a share is given to a second agent too.
    DealsAShareTwice,
    /// The coordinator believes that an agent knows the start instant which was not told it.
    ForgesAnArmed,
    /// Time stands still for the fleet from some instant on.
    StopsTicking,
    /// An agent takes what it sent for acknowledged.
    IgnoresTheWindow,
    /// An agent is told an instant of the coordinator's clock that is off by a fifth of a second.
    LiesAboutTheClock,
    /// An agent's end is written twice.
    TellsAnEndTwice,
}
