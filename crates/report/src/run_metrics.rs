//! The metrics of a run for monitoring systems: one table, whatever the format. Counters cover the
//! measured part, so they start with it.

use analysis::{
    Document, FigureGroup, Figures, JourneyFigures, MachineRole, Operations, RunState, TimeFigure,
    TokenFigures, Verdict,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Unit of a metric, as OpenTelemetry writes it (UCUM).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricUnit {
    /// A number of things: the name in braces, or empty for a yes or no.
    Things(&'static str),
    Seconds,
    Bytes,
    /// A part of a whole.
    Ratio,
}

/// How the samples of a metric behave over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Only grows.
    Counter,
    /// Rises and falls.
    Gauge,
    /// A distribution of times.
    Times,
}

/// A value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricSample<'d> {
    /// Without the label of the run, which all samples share.
    pub(crate) labels: Vec<MetricLabel<'d>>,
    pub(crate) value: MetricValue<'d>,
}

pub(crate) type MetricLabel<'d> = (&'static str, Cow<'d, str>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MetricValue<'d> {
    Count(u64),
    Number(f64),
    Times(&'d TimeFigure),
}

/// A metric of a run with its samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunMetric<'d> {
    /// The name, without the program's name and the unit.
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) unit: MetricUnit,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<MetricSample<'d>>,
}

/// All metrics of a run.
pub(crate) fn run_metrics(document: &Document) -> Vec<RunMetric<'_>> {
    let figures = &document.measured;
    let work = about(document).into_iter().chain(work(figures));
    let work = work.chain(traffic(figures));
    let work = work.chain(redirects(document)).chain(tokens(document));
    let work = work.chain(signing(document)).chain(grpc(document));
    let times = times(figures).into_iter().chain(streams(figures));
    let times = times.chain(websockets(document));
    let times = times.chain(journeys(document));
    let parts = parts(document).into_iter().chain(times);
    let rest = [machines(document)].into_iter().chain(judgements(document));
    work.chain(parts).chain(rest).collect()
}

impl<'d> RunMetric<'d> {
    fn counter(
        name: &'static str,
        thing: &'static str,
        help: &'static str,
        samples: Vec<MetricSample<'d>>,
    ) -> RunMetric<'d> {
        RunMetric {
            name,
            kind: MetricKind::Counter,
            unit: MetricUnit::Things(thing),
            help,
            samples,
        }
    }

    fn gauge(
        name: &'static str,
        unit: MetricUnit,
        help: &'static str,
        samples: Vec<MetricSample<'d>>,
    ) -> RunMetric<'d> {
        RunMetric {
            name,
            kind: MetricKind::Gauge,
            unit,
            help,
            samples,
        }
    }

    /// A distribution of the result's times, under the name that it has there.
    fn times(name: &'static str, help: &'static str, figures: &'d Figures) -> RunMetric<'d> {
        let figure = figures.times.get(name);
        let sample = figure.map(|figure| MetricSample {
            labels: Vec::new(),
            value: MetricValue::Times(figure),
        });
        RunMetric {
            name,
            kind: MetricKind::Times,
            unit: MetricUnit::Seconds,
            help,
            samples: sample.into_iter().collect(),
        }
    }

    /// The name in Prometheus. It is what OpenTelemetry's rules make of name, unit and kind, so
    /// that a query finds the metric whichever way it arrived.
    pub(crate) fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            MetricUnit::Things(_) => "",
            MetricUnit::Seconds => "_seconds",
            MetricUnit::Bytes => "_bytes",
            MetricUnit::Ratio => "_ratio",
        };
        let kind = match self.kind {
            MetricKind::Counter => "_total",
            MetricKind::Gauge | MetricKind::Times => "",
        };
        format!("cannonade_{}{unit}{kind}", self.name)
    }
}

impl<'d> MetricSample<'d> {
    fn count(labels: Vec<MetricLabel<'d>>, count: u64) -> MetricSample<'d> {
        MetricSample {
            labels,
            value: MetricValue::Count(count),
        }
    }

    fn number(labels: Vec<MetricLabel<'d>>, number: f64) -> MetricSample<'d> {
        MetricSample {
            labels,
            value: MetricValue::Number(number),
        }
    }
}

fn label<'d>(name: &'static str, text: impl Into<Cow<'d, str>>) -> MetricLabel<'d> {
    (name, text.into())
}

fn about(document: &Document) -> [RunMetric<'_>; 2] {
    let labels = vec![
        label("plan", &document.run.name),
        label("url", &document.plan.url),
        label("started_at", &document.run.started_at),
        label("version", &document.tool_version),
    ];
    let seconds = document.run.duration_ns as f64 / 1e9;
    [
        RunMetric::gauge(
            "run_info",
            MetricUnit::Things(""),
            "Which run this is.",
            vec![MetricSample::count(labels, 1)],
        ),
        RunMetric::gauge(
            "measured",
            MetricUnit::Seconds,
            "Length of the measured part so far.",
            vec![MetricSample::number(Vec::new(), seconds)],
        ),
    ]
}

/// Operations and their answers.
fn work(figures: &Figures) -> [RunMetric<'_>; 3] {
    let errors = figures.errors.iter();
    let statuses = figures.statuses.iter();
    [
        RunMetric::counter(
            "operations",
            "operation",
            "Operations that ended, by how.",
            outcomes(&figures.operations, &[]),
        ),
        RunMetric::counter(
            "errors",
            "operation",
            "Operations that did not end ok, by kind.",
            errors
                .map(|error| MetricSample::count(vec![label("kind", &error.name)], error.count))
                .collect(),
        ),
        RunMetric::counter(
            "responses",
            "response",
            "Responses by status.",
            statuses
                .map(|(status, &count)| {
                    MetricSample::count(vec![label("status", status.to_string())], count)
                })
                .collect(),
        ),
    ]
}

/// Statuses of gRPC calls, if there are any.
fn grpc(document: &Document) -> Option<RunMetric<'_>> {
    let calls = document.grpc.iter();
    let samples: Vec<_> = calls
        .flat_map(|calls| by_status(&calls.request, &calls.statuses))
        .collect();
    let help = "gRPC calls that ended with a status, by request and status.";
    (!samples.is_empty()).then(|| RunMetric::counter("grpc_calls", "call", help, samples))
}

/// Counts of one request of the plan by status.
fn by_status<'d, S: ToString>(
    request: &'d str,
    statuses: &'d BTreeMap<S, u64>,
) -> impl Iterator<Item = MetricSample<'d>> {
    statuses.iter().map(move |(status, &count)| {
        let labels = vec![
            label("request", request),
            label("status", status.to_string()),
        ];
        MetricSample::count(labels, count)
    })
}

/// What operations needed on the network.
fn traffic(figures: &Figures) -> [RunMetric<'_>; 3] {
    let by = |name, text: &'static str, count| MetricSample::count(vec![label(name, text)], count);
    let wire = vec![
        by("direction", "received", figures.bytes.wire_received_bytes),
        by("direction", "sent", figures.bytes.wire_sent_bytes),
    ];
    let handshakes = vec![
        by("kind", "full", figures.resumption.full),
        by("kind", "resumed", figures.resumption.resumed),
    ];
    [
        RunMetric {
            unit: MetricUnit::Bytes,
            ..RunMetric::counter("wire", "", "Bytes that sockets carried.", wire)
        },
        RunMetric::counter(
            "handshakes",
            "handshake",
            "TLS handshakes that were completed.",
            handshakes,
        ),
        RunMetric::counter(
            "connections_opened",
            "connection",
            "TCP connections that were opened.",
            vec![MetricSample::count(Vec::new(), figures.connections.opened)],
        ),
    ]
}

/// Redirects that were followed, of runs that have any.
fn redirects(document: &Document) -> Option<RunMetric<'_>> {
    let redirects = document.redirects.iter();
    let samples: Vec<_> = redirects
        .flat_map(|redirects| by_status(&redirects.request, &redirects.statuses))
        .collect();
    let help = "Redirects that were followed, by request of the plan and status.";
    (!samples.is_empty()).then(|| RunMetric::counter("redirects", "redirect", help, samples))
}

/// Tokens that requests carry, of runs that fetch any.
fn tokens(document: &Document) -> Vec<RunMetric<'_>> {
    if document.tokens.is_empty() {
        return Vec::new();
    }
    type Counts = fn(&TokenFigures) -> [(&'static str, u64); 2];
    let by = |name: &'static str, counts: Counts| {
        let samples = document.tokens.iter().flat_map(|token| {
            counts(token).map(|(text, count)| {
                MetricSample::count(vec![label("auth", &token.auth), label(name, text)], count)
            })
        });
        samples.collect()
    };
    let ran_out = document.tokens.iter().map(|token| {
        let labels = vec![label("auth", &token.auth)];
        MetricSample::count(labels, token.ran_out)
    });
    vec![
        RunMetric::counter(
            "token_fetches",
            "fetch",
            "Fetches of tokens over the whole run, by credential of the plan and outcome.",
            by("outcome", |token| {
                [("ok", token.fetched), ("failed", token.not_fetched)]
            }),
        ),
        RunMetric::counter(
            "tokens_ran_out",
            "token",
            "Tokens that expired before the next one came, over the whole run.",
            ran_out.collect(),
        ),
        RunMetric::counter(
            "token_requests",
            "request",
            "Requests that had a token, by whether it had expired when they were written.",
            by("token", |token| {
                let valid = token.requests.saturating_sub(token.expired_requests);
                [("valid", valid), ("expired", token.expired_requests)]
            }),
        ),
    ]
}

/// The client's CPU time for digests and signatures, of runs that make any.
fn signing(document: &Document) -> Option<RunMetric<'_>> {
    let signing = document.client.signing?;
    let seconds = MetricSample::number(Vec::new(), signing.cpu_ns as f64 / 1e9);
    Some(RunMetric {
        unit: MetricUnit::Seconds,
        ..RunMetric::counter(
            "signing_cpu",
            "",
            "CPU time of load threads for digests and signatures, estimated from some of them.",
            vec![seconds],
        )
    })
}

/// Operations by outcome; each sample also has `labels`.
fn outcomes<'d>(operations: &Operations, labels: &[MetricLabel<'d>]) -> Vec<MetricSample<'d>> {
    let failed = operations.failed.saturating_sub(operations.not_sent);
    let outcomes = [
        ("ok", operations.ok),
        ("timed_out", operations.timed_out),
        ("failed", failed),
        ("not_sent", operations.not_sent),
    ];
    let sample = |(outcome, count): (&'static str, u64)| {
        let labels = labels.iter().cloned();
        MetricSample::count(labels.chain([label("outcome", outcome)]).collect(), count)
    };
    outcomes.into_iter().map(sample).collect()
}

/// Operations of each group; `name` is the label for the group's name.
fn groups<'d>(name: &'static str, groups: &'d [FigureGroup]) -> Vec<MetricSample<'d>> {
    groups
        .iter()
        .flat_map(|group| outcomes(&group.figures.operations, &[label(name, &group.name)]))
        .collect()
}

fn parts(document: &Document) -> [RunMetric<'_>; 3] {
    // Two agents may have the same name, but no two samples may have the same labels.
    let agents = document.agents.iter().zip(&document.by_agent);
    let agents = agents.flat_map(|(agent, group)| {
        let name = format!("{}#{}", agent.name, agent.index);
        outcomes(&group.figures.operations, &[label("agent", name)])
    });
    [
        RunMetric::counter(
            "request_operations",
            "operation",
            "Operations that ended, by request of the plan.",
            groups("request", &document.by_request),
        ),
        RunMetric::counter(
            "address_operations",
            "operation",
            "Operations that ended, by address of the target.",
            groups("address", &document.by_address),
        ),
        RunMetric::counter(
            "agent_operations",
            "operation",
            "Operations that ended, by agent and its index.",
            agents.collect(),
        ),
    ]
}

fn times(figures: &Figures) -> [RunMetric<'_>; 2] {
    [
        RunMetric::times(
            "response_time",
            "From the instant an operation was due to its end.",
            figures,
        ),
        RunMetric::times(
            "service_time",
            "From the instant an operation was begun to its end.",
            figures,
        ),
    ]
}

/// Streamed answers, of runs that have any.
fn streams(figures: &Figures) -> Vec<RunMetric<'_>> {
    if figures.streams.is_empty() {
        return Vec::new();
    }
    let events = MetricSample::count(Vec::new(), figures.streams.events);
    vec![
        RunMetric::counter(
            "events",
            "event",
            "Events of streamed answers that came.",
            vec![events],
        ),
        RunMetric::times(
            "first_event",
            "From the instant an operation was due to the first event of its answer.",
            figures,
        ),
        RunMetric::times(
            "event_gap",
            "From one event of an answer to the next.",
            figures,
        ),
    ]
}

/// WebSockets and their messages, of runs that have any.
fn websockets(document: &Document) -> Vec<RunMetric<'_>> {
    let all = &document.websockets;
    if all.is_empty() {
        return Vec::new();
    }
    let messages = all.iter().flat_map(|sockets| {
        [
            ("sent", sockets.sent),
            ("received", sockets.received),
            ("answered", sockets.answered),
        ]
        .map(|(what, count)| {
            let labels = vec![label("request", &sockets.request), label("message", what)];
            MetricSample::count(labels, count)
        })
    });
    let opened = all.iter().map(|sockets| {
        let labels = vec![label("request", &sockets.request)];
        MetricSample::count(labels, sockets.opened)
    });
    let closed = all.iter().flat_map(|sockets| {
        sockets.closed.iter().map(|(code, &count)| {
            let labels = vec![
                label("request", &sockets.request),
                label("code", code.to_string()),
            ];
            MetricSample::count(labels, count)
        })
    });
    vec![
        RunMetric::counter(
            "websockets_opened",
            "socket",
            "WebSockets that the server accepted, by request of the plan.",
            opened.collect(),
        ),
        RunMetric::counter(
            "websockets_closed",
            "socket",
            "WebSockets that the server closed, by request and close code; 1005 if it gave none.",
            closed.collect(),
        ),
        RunMetric::counter(
            "messages",
            "message",
            "Messages over WebSockets, by request and by what became of them.",
            messages.collect(),
        ),
        RunMetric::times(
            "message_time",
            "From the instant a message was due to its answer.",
            &document.measured,
        ),
        RunMetric::times("ping_time", "From a ping to its pong.", &document.measured),
    ]
}

/// Journeys and their steps, of runs that have any.
fn journeys(document: &Document) -> Vec<RunMetric<'_>> {
    if !document.has_journeys() {
        return Vec::new();
    }
    let all = &document.journeys;
    let times = |name, help, figure: fn(&JourneyFigures) -> Option<&TimeFigure>| {
        let samples = all.iter().filter_map(|journey| {
            Some(MetricSample {
                labels: vec![label("journey", &journey.name)],
                value: MetricValue::Times(figure(journey)?),
            })
        });
        RunMetric {
            name,
            kind: MetricKind::Times,
            unit: MetricUnit::Seconds,
            help,
            samples: samples.collect(),
        }
    };
    vec![
        RunMetric::counter(
            "journeys",
            "journey",
            "Journeys that ended, by how.",
            all.iter().flat_map(journey_ends).collect(),
        ),
        RunMetric::counter(
            "journey_steps",
            "operation",
            "Operations of each step of a journey that ended, by how.",
            all.iter().flat_map(journey_steps).collect(),
        ),
        times(
            "journey_time",
            "From the instant a completed journey was due to the end of its last operation.",
            |journey| journey.time.as_ref(),
        ),
        times(
            "journey_wait",
            "The time of a completed journey without the pauses that the plan wants.",
            |journey| journey.wait.as_ref(),
        ),
    ]
}

fn journey_ends(journey: &JourneyFigures) -> impl Iterator<Item = MetricSample<'_>> {
    let ends = [
        ("completed", journey.completed),
        ("failed", journey.failed),
        ("abandoned", journey.abandoned),
        ("not_sent", journey.not_sent),
    ];
    ends.into_iter().map(|(outcome, count)| {
        let labels = vec![label("journey", &journey.name), label("outcome", outcome)];
        MetricSample::count(labels, count)
    })
}

fn journey_steps(journey: &JourneyFigures) -> impl Iterator<Item = MetricSample<'_>> {
    journey.steps.iter().flat_map(|step| {
        [("ok", step.ok), ("failed", step.failed)].map(|(outcome, count)| {
            let labels = vec![
                label("journey", &journey.name),
                label("step", &step.name),
                label("outcome", outcome),
            ];
            MetricSample::count(labels, count)
        })
    })
}

/// The latest second of each machine.
fn machines(document: &Document) -> RunMetric<'_> {
    let numbered = document.machines.iter().enumerate();
    let samples = numbered.filter_map(|(number, machine)| {
        let role = match machine.role {
            MachineRole::Agent => "agent",
            MachineRole::Monitor => "monitor",
        };
        let labels = vec![
            label("machine", &machine.name),
            label("role", role),
            label("number", number.to_string()),
        ];
        Some(MetricSample::number(labels, machine.rows.last()?.cpu_busy))
    });
    RunMetric::gauge(
        "machine_cpu",
        MetricUnit::Ratio,
        "Part of the CPUs that a machine may use which was busy in its latest second.",
        samples.collect(),
    )
}

fn judgements(document: &Document) -> [RunMetric<'_>; 2] {
    let thresholds = document.thresholds.iter().map(|judgement| {
        let labels = vec![
            label("threshold", &judgement.metric),
            label("limit", judgement.limit_in_words()),
        ];
        MetricSample::count(labels, u64::from(judgement.passed))
    });
    let verdicts = Verdict::ALL.into_iter().map(|verdict| {
        let is_it = document.verdict.verdict == verdict;
        MetricSample::count(vec![label("verdict", verdict.name())], u64::from(is_it))
    });
    // A run in progress is not a complete measurement yet, which must not raise an alarm.
    let is_refused = !document.run.refusals.is_empty();
    let is_over = is_refused || document.run.state != RunState::Incomplete;
    [
        RunMetric::gauge(
            "threshold_passed",
            MetricUnit::Things(""),
            "1 where a threshold of the plan holds so far, else 0.",
            thresholds.collect(),
        ),
        RunMetric::gauge(
            "verdict",
            MetricUnit::Things(""),
            "1 for what the numbers are about, once the run is over, else 0.",
            verdicts.filter(|_| is_over).collect(),
        ),
    ]
}
