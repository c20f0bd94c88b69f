//! Comparisons worked out by hand, and comparisons of runs that differ by noise only.

use crate::random::Random;
use crate::scene::{CLOSED, QUIET, cpu, document};
use analysis::{
    ChangeFinding, Comparison, CpuFigures, Document, FigureGroup, Figures, GroupFigures,
    JourneyFigures, LimitOutcome, LimitResult, Method, Pairing, PercentileFigure, RegressionLimit,
    Row, ServerFigures, TimeFigure, VariantRuns, Verdict,
};
use std::sync::LazyLock;

/// A document without any figures but those that are set afterwards.
fn blank() -> Document {
    static BLANK: LazyLock<Document> = LazyLock::new(make_blank);
    BLANK.clone()
}

fn make_blank() -> Document {
    let mut document = document(CLOSED, QUIET, cpu(0.3, 0.3));
    document.measured = Figures::default();
    document
        .agents
        .iter_mut()
        .for_each(|agent| agent.cpu = None);
    document.series.rows.clear();
    // Long enough for one operation more or less to make no difference.
    document.run.duration_ns = 1_000_000 * 1_000_000_000;
    document
}

fn with_rate(rate: f64) -> Document {
    let mut document = blank();
    document.measured.rates.ok_per_second = rate;
    document
}

fn with_errors(errors: u64, ended: u64) -> Document {
    let mut document = blank();
    (
        document.measured.operations.errors,
        document.measured.operations.ended,
    ) = (errors, ended);
    document
}

fn sides<'a>(first: &'a [Document], other: &'a [Document]) -> [VariantRuns<'a>; 2] {
    [("first", first), ("other", other)].map(|(name, documents)| VariantRuns {
        name: name.to_owned(),
        runs: documents.iter().map(Some).collect(),
    })
}

fn compare(pairing: Pairing, first: &[Document], other: &[Document]) -> Comparison {
    Comparison::new(&sides(first, other), pairing, 1)
}

fn words(comparison: &Comparison, figure: &str) -> String {
    comparison.row(figure).unwrap().cells[1]
        .change
        .as_ref()
        .unwrap()
        .text
        .clone()
}

fn rates(rates: &[f64]) -> Vec<Document> {
    rates.iter().map(|&rate| with_rate(rate)).collect()
}

/// Rates of 100·e^difference against 100, in rounds that become faster and faster.
fn rounds(differences: &[f64]) -> (Vec<Document>, Vec<Document>) {
    let first: Vec<f64> = (0..differences.len())
        .map(|round| 100.0 * 1.3_f64.powi(round as i32))
        .collect();
    let other: Vec<f64> = first
        .iter()
        .zip(differences)
        .map(|(rate, difference)| rate * difference.exp())
        .collect();
    (rates(&first), rates(&other))
}

#[test]
fn paired_ratios_have_the_interval_worked_out_by_hand() {
    // Mean 0.02, standard error 0.01/√3, t = 4.303 for two degrees: 0.02 ± (0.02484 + 1/1024).
    let (first, other) = rounds(&[0.01, 0.02, 0.03]);
    let comparison = compare(Pairing::Interleaved, &first, &other);
    assert_eq!(comparison.method, Method::Paired);
    assert!(
        (comparison.confidence - 0.95).abs() < 1e-12,
        "one figure alone"
    );
    assert_eq!(
        words(&comparison, "rate"),
        "no difference beyond the noise (-0.6 to +4.7 %)"
    );
    let change = comparison.rows[0].cells[1].change.clone().unwrap();
    let interval = change.interval.unwrap();
    assert!(
        (interval.low.ln() + 0.005_818).abs() < 1e-4
            && (interval.high.ln() - 0.045_818).abs() < 1e-4,
        "{interval:?}"
    );
    assert!(change.weak && change.repeats == 3);
    // Standard error √(0.0002/4/5), t = 2.776 for four degrees: 0.02 ± (0.00878 + 1/1024).
    let (first, other) = rounds(&[0.01, 0.02, 0.03, 0.02, 0.02]);
    let comparison = compare(Pairing::Interleaved, &first, &other);
    assert_eq!(words(&comparison, "rate"), "higher by 2.0 % (1.0 to 3.0 %)");
    assert!(!comparison.rows[0].cells[1].change.as_ref().unwrap().weak);
}

/// A run with a journey `buyer`, which has a group `pay`, and a request `order`. All times are `ms`
/// milliseconds.
fn with_journey(ms: u64, failed: u64) -> Document {
    let mut document = blank();
    let ns = ms * 1_000_000;
    let time = || TimeFigure {
        count: 100,
        mean_ns: ns as f64,
        percentiles: [50.0, 99.0]
            .map(|percentile| PercentileFigure {
                percentile,
                value_ns: ns,
                at_least: false,
            })
            .to_vec(),
        ..TimeFigure::default()
    };
    document.journeys = vec![JourneyFigures {
        name: "buyer".into(),
        completed: 100 - failed,
        failed,
        completed_per_second: 1e3 / ms as f64,
        time: Some(time()),
        groups: vec![GroupFigures {
            name: "pay".into(),
            time: Some(time()),
            ..GroupFigures::default()
        }],
        ..JourneyFigures::default()
    }];
    let mut figures = Figures::default();
    figures.times.insert("response_time".into(), time());
    document.by_request = vec![FigureGroup {
        name: "order".into(),
        figures,
    }];
    document
}

#[test]
fn journeys_are_compared_and_requests_where_a_limit_names_them() {
    let first = [100, 101, 99].map(|ms| with_journey(ms, 0));
    let other = [300, 303, 297].map(|ms| with_journey(ms, 50));
    let comparison = compare(Pairing::Interleaved, &first, &other);
    let names: Vec<&str> = comparison.rows.iter().map(|row| &*row.name).collect();
    let expected = [
        "journey.buyer.rate",
        "journey.buyer.failed.share",
        "journey.buyer.time.p50",
        "journey.buyer.time.p99",
        "journey.buyer.group.pay.time.p50",
        "journey.buyer.group.pay.time.p99",
    ];
    assert_eq!(names[names.len() - 6..], expected, "{names:?}");
    let time = words(&comparison, "journey.buyer.time.p99");
    assert!(time.starts_with("3.00 times"), "{time}");
    let share = &comparison.row("journey.buyer.failed.share").unwrap().cells;
    assert_eq!([share[0].value, share[1].value], [Some(0.0), Some(0.5)]);
    let limits = [
        "journey.buyer.group.pay.time.p99=250%",
        "journey.buyer.rate=10%",
        "request.order.response_time.p50=10%",
        "request.cart.rate=10%",
    ];
    let outcomes: Vec<LimitOutcome> = judge(&limits, &first, &other)
        .iter()
        .map(|result| result.outcome)
        .collect();
    use LimitOutcome::{Kept, Regressed, Unknown};
    assert_eq!(outcomes, [Kept, Regressed, Regressed, Unknown]);
}

/// A run that cost the server `steps` steps of 10 ms for 1000 operations.
fn with_server_cpu(steps: u64) -> Document {
    let mut document = blank();
    document.server = Some(ServerFigures {
        cpu_ns: steps * 10_000_000,
        cpu_per_operation_ns: Some(steps as f64 * 1e4),
        cpus: None,
    });
    document
}

#[test]
fn repeats_that_agree_to_a_coarse_step_are_no_certainty() {
    // Three times 8 steps against 9: the logarithm is 0.1178 each time. A time is the difference of
    // two readings of two counters, with four roundings: q is 20 ms, 1/4 of the one and 1/4.5 of
    // the other. Variance (1/16 + 1/20.25)/12/3 = 0.003108, standard error 0.05575; no difference
    // below a step of 1/4 is reported. t = 4.3027 for two degrees: 0.1178 ± (0.2399 + 0.25).
    let comparison = compare(
        Pairing::Interleaved,
        &vec![with_server_cpu(8); 3],
        &vec![with_server_cpu(9); 3],
    );
    let change = comparison.row("server.cpu_per_operation").unwrap().cells[1]
        .change
        .clone()
        .unwrap();
    assert_eq!(change.finding, ChangeFinding::NoDifference, "{change:?}");
    let (interval, difference) = (change.interval.unwrap(), 9.0_f64.ln() - 8.0_f64.ln());
    let half = 4.3027 * 0.055_75 + 0.25;
    assert!(
        (interval.low.ln() - (difference - half)).abs() < 1e-4,
        "{interval:?}"
    );
    assert!(
        (interval.high.ln() - (difference + half)).abs() < 1e-4,
        "{interval:?}"
    );
    // Runs made apart differ as much, and have two degrees of freedom if neither side scatters.
    let comparison = compare(
        Pairing::Apart,
        &vec![with_server_cpu(8); 3],
        &vec![with_server_cpu(9); 3],
    );
    let apart = comparison.row("server.cpu_per_operation").unwrap().cells[1]
        .change
        .as_ref()
        .unwrap()
        .interval
        .unwrap();
    assert!(
        (apart.low - interval.low).abs() < 1e-9 && (apart.high - interval.high).abs() < 1e-9,
        "{apart:?}"
    );
    // A thousand times the CPU time: the same step no longer matters.
    let comparison = compare(
        Pairing::Interleaved,
        &vec![with_server_cpu(8000); 3],
        &vec![with_server_cpu(9000); 3],
    );
    assert!(
        words(&comparison, "server.cpu_per_operation").starts_with("higher by 12.5 %"),
        "{comparison:?}"
    );
}

#[test]
fn rate_is_known_to_one_operation_of_its_window() {
    // 400 operations in 4 s against 404, twice: q is 0.25/s, 0.0025 of the one and 0.002475 of the
    // other. Variance (0.0025² + 0.002475²)/12/2, standard error 0.000718; t = 12.706 for one
    // degree: 0.00995 ± (0.00912 + 0.0025).
    let side = |rate| {
        let mut document = with_rate(rate);
        document.run.duration_ns = 4_000_000_000;
        vec![document; 2]
    };
    let comparison = compare(Pairing::Interleaved, &side(100.0), &side(101.0));
    let interval = comparison.row("rate").unwrap().cells[1]
        .change
        .as_ref()
        .unwrap()
        .interval
        .unwrap();
    let half = 12.706 * ((0.0025_f64.powi(2) + (0.25_f64 / 101.0).powi(2)) / 24.0).sqrt() + 0.0025;
    assert!(
        (interval.low.ln() - (1.01_f64.ln() - half)).abs() < 1e-6,
        "{interval:?}"
    );
    assert_eq!(
        words(&comparison, "rate"),
        "no difference beyond the noise (-0.2 to +2.2 %)"
    );
}

#[test]
fn seconds_that_agree_leave_what_a_rate_is_rounded_by() {
    // 16 seconds with 100 operations each against 16 with 101: the draws do not scatter. q is 1/16
    // per second, 0.000625 of the one and 0.000619 of the other; standard error √((0.000625² +
    // 0.000619²)/12) = 0.000254. Four blocks: t = 3.182 for three degrees.
    let side = |each: u64| {
        let mut document = with_rate(each as f64);
        (document.run.duration_ns, document.series.row_seconds) = (16_000_000_000, 1);
        let from = (document.run.warm_up_ns / 1_000_000_000) as u32;
        document.series.rows = (from..from + 16)
            .map(|second| Row {
                second,
                ended: each,
                ..Row::default()
            })
            .collect();
        document
    };
    let comparison = compare(Pairing::Apart, &[side(100)], &[side(101)]);
    assert_eq!(comparison.method, Method::WithinRun);
    let interval = comparison.row("rate").unwrap().cells[1]
        .change
        .as_ref()
        .unwrap()
        .interval
        .unwrap();
    let half = 3.1824 * ((0.000_625_f64.powi(2) + (0.0625_f64 / 101.0).powi(2)) / 12.0).sqrt()
        + 1.0 / 1024.0;
    assert!(
        (interval.low.ln() - (1.01_f64.ln() - half)).abs() < 1e-6,
        "{interval:?} {half}"
    );
}

#[test]
fn drift_from_round_to_round_falls_out_of_pairs_but_not_of_runs_made_apart() {
    let (first, other) = rounds(&[-0.1, -0.101, -0.099, -0.1]);
    let paired = compare(Pairing::Interleaved, &first, &other);
    assert!(
        words(&paired, "rate").starts_with("lower by 9.5 % (9.3 to "),
        "{}",
        words(&paired, "rate")
    );
    let apart = compare(Pairing::Apart, &first, &other);
    assert_eq!(apart.method, Method::Separate);
    assert!(
        words(&apart, "rate").starts_with("no difference beyond the noise"),
        "{}",
        words(&apart, "rate")
    );
}

#[test]
fn runs_made_apart_have_welch_s_interval_worked_out_by_hand() {
    // Logarithms 0, 0.01, 0.02 against 0.1, 0.11, 0.12, 0.13. Means 0.01 and 0.115; variances over
    // runs 0.0001/3 and 0.000 166 7/4: standard error √0.000 075, degrees (0.000 075)²/(3.33e-5²/2
    // + 4.17e-5²/3) = 4.96, so 4.
    let of = |logarithms: &[f64]| {
        rates(
            &logarithms
                .iter()
                .map(|logarithm| logarithm.exp())
                .collect::<Vec<_>>(),
        )
    };
    let comparison = compare(
        Pairing::Apart,
        &of(&[0.0, 0.01, 0.02]),
        &of(&[0.1, 0.11, 0.12, 0.13]),
    );
    let interval = comparison.rows[0].cells[1]
        .change
        .as_ref()
        .unwrap()
        .interval
        .unwrap();
    let half = 2.7764 * 0.000_075_f64.sqrt() + 1.0 / 1024.0;
    assert!(
        (interval.low.ln() - (0.105 - half)).abs() < 1e-4
            && (interval.high.ln() - (0.105 + half)).abs() < 1e-4,
        "{interval:?}"
    );
}

#[test]
fn single_run_is_taken_to_scatter_as_those_of_the_other_side() {
    // Logarithms 0, 0.01, 0.02 against 0.1: standard error 0.01·√(1/3 + 1), t = 4.303 for two
    // degrees.
    let of = |logarithms: &[f64]| {
        rates(
            &logarithms
                .iter()
                .map(|logarithm| logarithm.exp())
                .collect::<Vec<_>>(),
        )
    };
    for pairing in [Pairing::Apart, Pairing::Interleaved] {
        let comparison = compare(pairing, &of(&[0.0, 0.01, 0.02]), &of(&[0.1]));
        assert_eq!(comparison.method, Method::Separate);
        let change = comparison.rows[0].cells[1].change.clone().unwrap();
        let (interval, half) = (
            change.interval.unwrap(),
            4.3027 * 0.01 * (4.0_f64 / 3.0).sqrt() + 1.0 / 1024.0,
        );
        assert!(
            (interval.low.ln() - (0.09 - half)).abs() < 1e-4,
            "{interval:?}"
        );
        assert_eq!((change.repeats, change.weak), (1, true));
    }
}

#[test]
fn figure_of_one_round_among_several_has_no_interval() {
    let with_connect = |document: Document| {
        let mut document = document;
        let p50 = PercentileFigure {
            percentile: 50.0,
            value_ns: 1000,
            at_least: false,
        };
        document.measured.times.insert(
            "connect".to_owned(),
            TimeFigure {
                percentiles: vec![p50],
                ..TimeFigure::default()
            },
        );
        document
    };
    let side = || {
        vec![
            with_connect(with_rate(100.0)),
            with_rate(100.0),
            with_rate(100.0),
        ]
    };
    let comparison = compare(Pairing::Interleaved, &side(), &side());
    assert_eq!(comparison.method, Method::Paired);
    assert_eq!(
        words(&comparison, "connect.p50"),
        "+0 %, noise not known (one repeat)"
    );
}

#[test]
fn mean_of_waits_that_were_cut_short_is_not_comparable() {
    for (timed_out, not_sent) in [(1, 0), (0, 1)] {
        let waited = |timed_out, not_sent| {
            let mut document = blank();
            let figure = TimeFigure {
                timed_out,
                not_sent,
                mean_ns: 1e6,
                ..TimeFigure::default()
            };
            let name = "response_time".to_owned();
            document.measured.times.insert(name, figure);
            document
        };
        let comparison = compare(
            Pairing::Interleaved,
            &[waited(0, 0), waited(0, 0)],
            &[waited(timed_out, not_sent), waited(0, 0)],
        );
        let row = comparison.row("response_time.mean").unwrap();
        assert!(row.cells[1].at_least, "{timed_out} {not_sent}");
        let why = if timed_out > 0 {
            "not comparable: time-outs make it a lower bound"
        } else {
            "not comparable: arrivals that were never sent make it a lower bound"
        };
        assert_eq!(words(&comparison, "response_time.mean"), why);
    }
}

#[test]
fn what_cannot_be_compared_says_why() {
    let late = |at_least: bool| {
        let mut document = with_rate(100.0);
        let p99 = PercentileFigure {
            percentile: 99.0,
            value_ns: 30_000_000_000,
            at_least,
        };
        let figure = TimeFigure {
            percentiles: vec![p99],
            mean_ns: 1.0,
            timed_out: u64::from(at_least),
            ..TimeFigure::default()
        };
        document
            .measured
            .times
            .insert("response_time".to_owned(), figure);
        document
    };
    let comparison = compare(
        Pairing::Interleaved,
        &[late(false), late(false)],
        &[late(true), late(false)],
    );
    assert_eq!(
        words(&comparison, "response_time.p99"),
        "not comparable: time-outs make it a lower bound"
    );
    assert!(comparison.row("response_time.p99").unwrap().cells[1].at_least);
    assert!(
        comparison.row("handshake_full.p50").is_none(),
        "no variant has one"
    );
    let comparison = compare(
        Pairing::Interleaved,
        &rates(&[100.0, 100.0]),
        &rates(&[0.0, 100.0]),
    );
    assert_eq!(words(&comparison, "rate"), "not comparable: it is 0");
    let comparison = compare(Pairing::Interleaved, &[with_errors(0, 10)], &[]);
    assert_eq!(words(&comparison, "errors.share"), "not measured in both");
    let comparison = compare(Pairing::Interleaved, &rates(&[100.0]), &rates(&[103.0]));
    assert_eq!(
        words(&comparison, "rate"),
        "+3.0 %, noise not known (one run each)"
    );
}

#[test]
fn untrusted_runs_are_left_out_and_client_bound_ones_said() {
    let mut other = rates(&[50.0, 101.0, 100.0]);
    other[0].verdict.verdict = Verdict::Invalid;
    other[1].verdict.verdict = Verdict::ClientBound;
    let comparison = compare(Pairing::Interleaved, &rates(&[100.0, 100.0, 100.0]), &other);
    let cell = &comparison.rows[0].cells[1];
    assert_eq!((cell.runs, cell.change.as_ref().unwrap().repeats), (2, 2));
    assert!(
        comparison.notes[0].starts_with("other: 1 of 3 runs cannot be trusted"),
        "{:?}",
        comparison.notes
    );
    assert!(
        comparison.notes[1].contains("the client limited 1 of 3 runs"),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn shares_differ_no_more_surely_than_their_counts_allow() {
    // One error in a thousand, three times, against none: three events decide nothing.
    let comparison = compare(
        Pairing::Interleaved,
        &vec![with_errors(0, 1000); 3],
        &vec![with_errors(1, 1000); 3],
    );
    assert!(
        words(&comparison, "errors.share").starts_with("no difference"),
        "{}",
        words(&comparison, "errors.share")
    );
    let comparison = compare(
        Pairing::Interleaved,
        &vec![with_errors(0, 1000); 3],
        &vec![with_errors(100, 1000); 3],
    );
    assert!(
        words(&comparison, "errors.share").starts_with("higher by 10.0 points"),
        "{}",
        words(&comparison, "errors.share")
    );
}

fn judge(texts: &[&str], first: &[Document], other: &[Document]) -> Vec<LimitResult> {
    let limits = texts.iter().map(|text| text.parse().unwrap());
    let limits: Vec<RegressionLimit> = limits.collect();
    RegressionLimit::judge(&limits, &sides(first, other), Pairing::Interleaved, 1)
}

#[test]
fn limits_regress_only_beyond_limit_and_noise() {
    let (first, other) = rounds(&[-0.1, -0.101, -0.099, -0.1]);
    for (text, expected) in [
        ("rate=5%", LimitOutcome::Regressed),
        ("rate=15%", LimitOutcome::Kept),
        ("connect.p50=5%", LimitOutcome::Unknown),
    ] {
        let judged = judge(&[text], &first, &other);
        let outcomes: Vec<LimitOutcome> = judged.iter().map(|result| result.outcome).collect();
        assert_eq!(outcomes, [expected], "{text}");
    }
    // Two rounds that contradict each other decide nothing about a limit of 5 %.
    let judged = judge(
        &["rate=5%"],
        &rates(&[100.0, 100.0]),
        &rates(&[80.0, 100.0]),
    );
    assert_eq!(judged[0].outcome, LimitOutcome::Unknown);
}

/// Rates as in [`rounds`], and payload rates that do not differ but scatter.
fn with_idle_figures(differences: &[f64]) -> (Vec<Document>, Vec<Document>) {
    let (first, mut other) = rounds(differences);
    let mut first = first;
    for (index, document) in first.iter_mut().chain(&mut other).enumerate() {
        document.measured.operations.ended = 1000;
        document.measured.operations.errors = 20;
        document.measured.operations.timed_out = 10;
        let figure = TimeFigure {
            mean_ns: 1e6 + 1e5 * (index % 3) as f64,
            ..TimeFigure::default()
        };
        let times = &mut document.measured.times;
        times.insert("response_time".to_owned(), figure);
    }
    (first, other)
}

#[test]
fn variants_of_a_matrix_are_compared_along_each_axis() {
    // The second axis doubles the rate; the first doubles it only where the second has its other
    // value.
    let runs = [100.0, 200.0, 100.0, 400.0].map(|rate| rates(&[rate, rate * 1.001, rate * 0.999]));
    let named = ["a1", "a2", "b1", "b2"].iter().zip(&runs);
    let variants: Vec<VariantRuns<'_>> = named
        .map(|(name, runs)| VariantRuns {
            name: (*name).to_owned(),
            runs: runs.iter().map(Some).collect(),
        })
        .collect();
    let comparison = Comparison::of_matrix(&variants, &[2, 2], Pairing::Interleaved, 1);
    let pairs: Vec<(&str, &str, f64)> = comparison
        .along_axes
        .iter()
        .map(|pair| {
            let rate = &pair.changes[0];
            assert_eq!(rate.name, "rate");
            let estimate = rate.change.estimate.unwrap();
            (
                pair.variant.as_str(),
                pair.against.as_str(),
                estimate.round(),
            )
        })
        .collect();
    assert_eq!(pairs, [("b2", "a2", 2.0), ("b2", "b1", 4.0)]);
    assert_eq!(comparison.looked_at, 5, "all of them are one family");
    let plain = Comparison::new(&variants, Pairing::Interleaved, 1);
    assert_eq!((plain.looked_at, plain.along_axes.len()), (3, 0));
}

#[test]
fn figure_that_is_asked_for_alone_is_judged_alone() {
    // Mean -0.1, standard error 0.037/√3 with two degrees, t = 4.303: beyond 0.093 for one figure.
    // Among the four figures of these runs, t is 8.9.
    let differences = [-0.063, -0.1, -0.137];
    let (first, other) = with_idle_figures(&differences);
    let table = compare(Pairing::Interleaved, &first, &other);
    assert_eq!(table.looked_at, 4, "{table:?}");
    let text = words(&table, "rate");
    assert!(
        text.starts_with("not beyond chance among so many"),
        "{text}"
    );
    let judged = judge(&["rate=5%"], &first, &other);
    assert_eq!(judged[0].outcome, LimitOutcome::Regressed, "{judged:?}");
    assert!(judged[0].text.starts_with("lower by 9.5 %"), "{judged:?}");
    // Two figures with limits are a family of two.
    let judged = judge(&["rate=5%", "errors.share=1%"], &first, &other);
    assert_eq!(judged[0].outcome, LimitOutcome::Unknown, "{judged:?}");
    assert!(
        judged[0].text.starts_with("not beyond chance"),
        "{judged:?}"
    );
}

/// A run whose figures are the usual ones with noise: of the round, of the run, and of each figure.
fn noisy(random: &mut Random, round: f64) -> Document {
    let mut document = blank();
    let run = 0.02 * random.normal();
    let mut factor = || (round + run + 0.01 * random.normal()).exp();
    let measured = &mut document.measured;
    measured.rates.ok_per_second = 1000.0 / factor();
    measured.rates.payload_bytes_per_second = 356_000.0 / factor();
    for metric in [
        "response_time",
        "connect",
        "handshake_full",
        "handshake_resumed",
    ] {
        let percentiles = [50.0, 90.0, 99.0].map(|percentile| PercentileFigure {
            percentile,
            value_ns: (1e6 * percentile * factor()) as u64,
            at_least: false,
        });
        let figure = TimeFigure {
            mean_ns: 6e7 * factor(),
            percentiles: percentiles.to_vec(),
            ..TimeFigure::default()
        };
        measured.times.insert(metric.to_owned(), figure);
    }
    measured.operations.ended = 10_000;
    measured.operations.errors = random.poisson(20.0);
    document
}

/// Such a run made so short that CPU times are a few steps, and counts a few hundred.
fn coarse(random: &mut Random, round: f64) -> Document {
    let mut document = noisy(random, round);
    document.run.duration_ns = 1_000_000_000;
    let steps = |mean: f64, random: &mut Random| {
        (mean * (0.01 * random.normal()).exp() + random.uniform()).floor()
    };
    let (server, client) = (steps(6.0, random), steps(9.0, random));
    document.server = Some(ServerFigures {
        cpu_ns: server as u64 * 10_000_000,
        cpu_per_operation_ns: Some(server * 1e7 / 300.0),
        cpus: None,
    });
    document.agents.truncate(1);
    document.agents.iter_mut().for_each(|agent| {
        agent.cpu = Some(CpuFigures {
            samples: 1,
            process_share_mean: client * 0.01,
            machine_busy_share_mean: client * 0.01,
            ..CpuFigures::default()
        });
    });
    let rates = &mut document.measured.rates;
    rates.ok_per_second = steps(300.0, random);
    (rates.operations_per_second, rates.payload_bytes_per_second) =
        (300.0, rates.ok_per_second * 356.0);
    document
}

/// A run of 60 seconds in which each second keeps half of the previous second's deviation.
fn noisy_seconds(random: &mut Random) -> Document {
    noisy_run(random, 60)
}

fn noisy_run(random: &mut Random, length: u32) -> Document {
    let mut document = blank();
    document.run.duration_ns = u64::from(length) * 1_000_000_000;
    document.series.row_seconds = 1;
    let mut slow = random.normal();
    for second in 0..length + 2 {
        slow = 0.5 * slow + 0.75_f64.sqrt() * random.normal();
        let factors: [f64; 4] =
            std::array::from_fn(|_| (0.05 * slow + 0.02 * random.normal()).exp());
        let ended = (1000.0 / factors[0]) as u64;
        let errors = random.poisson(2.0);
        document.series.rows.push(Row {
            second,
            ended,
            errors,
            timed_out: 0,
            payload_bytes: ended * 356,
            response_time_count: ended,
            response_time_mean_ns: 6e7 * factors[1],
            response_time_p50_ns: (5e7 * factors[2]) as u64,
            response_time_p99_ns: (9.9e7 * factors[3] * (1.0 + 0.1 * random.uniform())) as u64,
            ..Row::default()
        });
    }
    sum_up(&mut document);
    document
}

/// Sets the figures of the whole run to those of its rows after the warm-up of 2 s.
fn sum_up(document: &mut Document) {
    let rows: Vec<Row> = document.series.rows.split_off(2);
    let seconds = rows.len() as f64;
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let (ended, errors) = (sum(|row| row.ended), sum(|row| row.errors));
    let mean = |of: fn(&Row) -> f64| {
        let sum: f64 = rows.iter().map(|row| of(row) * row.ended as f64).sum();
        sum / ended as f64
    };
    let measured = &mut document.measured;
    measured.rates.ok_per_second = (ended - errors) as f64 / seconds;
    measured.rates.payload_bytes_per_second = sum(|row| row.payload_bytes) as f64 / seconds;
    (measured.operations.ended, measured.operations.errors) = (ended, errors);
    let at = |percentile, value: f64| PercentileFigure {
        percentile,
        value_ns: value as u64,
        at_least: false,
    };
    let figure = TimeFigure {
        mean_ns: mean(|row| row.response_time_mean_ns),
        percentiles: vec![
            at(50.0, mean(|row| row.response_time_p50_ns as f64)),
            at(99.0, mean(|row| row.response_time_p99_ns as f64)),
        ],
        ..TimeFigure::default()
    };
    measured.times.insert("response_time".to_owned(), figure);
    document.series.rows.extend(rows);
}

/// The same run as a longer one would have kept it: each row holds `seconds` seconds.
fn with_rows_of(seconds: u32, document: &Document) -> Document {
    let mut longer = document.clone();
    longer.series.row_seconds = seconds;
    let merged = document.series.rows.chunks(seconds as usize).map(|rows| {
        let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
        let times = sum(|row| row.response_time_count);
        let mean = |of: fn(&Row) -> f64| {
            let weighted = |row: &Row| of(row) * row.response_time_count as f64;
            rows.iter().map(weighted).sum::<f64>() / times as f64
        };
        Row {
            second: rows[0].second,
            seconds: rows.len() as u32,
            ended: sum(|row| row.ended),
            errors: sum(|row| row.errors),
            payload_bytes: sum(|row| row.payload_bytes),
            response_time_count: times,
            response_time_mean_ns: mean(|row| row.response_time_mean_ns),
            response_time_p50_ns: mean(|row| row.response_time_p50_ns as f64) as u64,
            response_time_p99_ns: mean(|row| row.response_time_p99_ns as f64) as u64,
            ..Row::default()
        }
    });
    longer.series.rows = merged.collect();
    longer
}

#[test]
fn length_of_rows_makes_no_difference() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let length = 200 + (random.uniform() * 100.0) as u32;
        let run = noisy_run(&mut random, length);
        for (first, other) in [(1, 2), (2, 1), (1, 8), (8, 2)] {
            let sides = [first, other].map(|seconds| with_rows_of(seconds, &run));
            let [first_side, other_side] = sides;
            let comparison = compare(Pairing::Apart, &[first_side], &[other_side]);
            assert_eq!(comparison.method, Method::WithinRun);
            let changes = comparison
                .rows
                .iter()
                .map(|row| (row, &row.cells[1].change));
            for (row, change) in changes {
                let change = change.as_ref().unwrap();
                let is_share = row.name.ends_with(".share");
                let none = if is_share { 0.0 } else { 1.0 };
                let same = (ChangeFinding::NoDifference, Some(none));
                let told = (change.finding, change.estimate);
                assert_eq!(told, same, "seed {seed}, {first} s and {other} s: {row:?}");
            }
        }
    }
}

#[test]
fn change_of_single_runs_is_that_of_their_values() {
    let mut random = Random(3);
    let (first, mut other) = (noisy_seconds(&mut random), noisy_seconds(&mut random));
    // A mean of percentiles is not a percentile: one bad second moves the two by different amounts.
    let response_time = other.measured.times.get_mut("response_time").unwrap();
    response_time.percentiles[1].value_ns *= 3;
    let comparison = compare(Pairing::Apart, &[first], &[other]);
    for row in &comparison.rows {
        let values = row.cells.iter().map(|cell| cell.value.unwrap());
        let values: Vec<f64> = values.collect();
        let expected = if row.name.ends_with(".share") {
            values[1] - values[0]
        } else {
            values[1] / values[0]
        };
        let estimate = row.cells[1].change.as_ref().unwrap().estimate.unwrap();
        assert!((estimate - expected).abs() < 1e-9, "{row:?}");
    }
    assert_eq!(
        words(&comparison, "response_time.p99"),
        "cannot be told from these runs",
        "what the seconds do not bear out is not named"
    );
}

#[test]
fn arrivals_that_were_not_sent_are_part_of_what_errors_are_a_share_of() {
    // In each second 100 are due and 10 of them are never sent: a share of 0.1, and 90/s ok.
    let side = || {
        let mut document = with_errors(160, 1600);
        document.measured.rates.ok_per_second = 90.0;
        (document.run.duration_ns, document.series.row_seconds) = (16_000_000_000, 1);
        let row = |second| Row {
            second,
            ended: 90,
            errors: 10,
            errors_by_kind: [("load.not_sent".to_owned(), 10)].into(),
            ..Row::default()
        };
        document.series.rows = (2..18).map(row).collect();
        document
    };
    let comparison = compare(Pairing::Apart, &[side()], &[with_hundred_ok(side())]);
    let change = |name: &str| {
        let cell = &comparison.row(name).unwrap().cells[1];
        cell.change.clone().unwrap()
    };
    // All seconds are equal: what remains is a rounded rate and a counted share.
    assert_eq!(change("rate").finding, ChangeFinding::HigherIsBetter);
    let share = change("errors.share");
    assert_eq!(share.finding, ChangeFinding::LowerIsBetter);
    let interval = share.interval.unwrap();
    // Standard error √(p(1 − p)(2/1600)), p = 161/3202: 0.00773; t = 3.182 for three degrees.
    let half = 3.1824 * (161.0 / 3202.0 * (1.0 - 161.0 / 3202.0) * 2.0 / 1600.0_f64).sqrt();
    assert!(
        (interval.low - (-0.1 - half)).abs() < 1e-4 && (interval.high - (half - 0.1)).abs() < 1e-4,
        "{interval:?} {half}"
    );
}

fn with_hundred_ok(mut document: Document) -> Document {
    document.measured.rates.ok_per_second = 100.0;
    document.measured.operations.errors = 0;
    for row in &mut document.series.rows {
        (row.ended, row.errors) = (100, 0);
        row.errors_by_kind.clear();
    }
    document
}

/// The share of `tables` tables that report a difference, and the share of reported figures among
/// all those with an interval.
fn named(tables: u64, mut table: impl FnMut(&mut Random) -> Comparison) -> (f64, f64) {
    let (mut any, mut figures, mut all) = (0, 0, 0);
    for seed in 0..tables {
        let comparison = table(&mut Random(seed));
        let changes = comparison
            .rows
            .iter()
            .filter_map(|row| row.cells[1].change.as_ref());
        let judged: Vec<ChangeFinding> = changes
            .filter(|change| change.interval.is_some())
            .map(|change| change.finding)
            .collect();
        let differ = judged
            .iter()
            .filter(|finding| finding.is_difference())
            .count();
        (any, figures, all) = (
            any + u32::from(differ > 0),
            figures + differ,
            all + judged.len(),
        );
    }
    (f64::from(any) / tables as f64, figures as f64 / all as f64)
}

#[test]
fn interleaved_repeats_of_one_thing_name_a_difference_in_at_most_one_table_of_twenty() {
    // With two repeats the share is just below 5 %, so it takes more tables to show that.
    for (repeats, number) in [(2, 4000), (3, 1000), (5, 1000), (10, 1000)] {
        let (tables, figures) = named(number, |random| {
            let rounds: Vec<f64> = (0..repeats).map(|_| 0.1 * random.normal()).collect();
            let mut side = || {
                rounds
                    .iter()
                    .map(|&round| noisy(random, round))
                    .collect::<Vec<_>>()
            };
            let (first, other) = (side(), side());
            compare(Pairing::Interleaved, &first, &other)
        });
        println!(
            "{repeats} repeats: {:.1} % of tables, {:.2} % of figures",
            tables * 100.0,
            figures * 100.0
        );
        assert!(
            tables <= 0.05 && figures <= 0.05,
            "{repeats} repeats: {tables} of tables, {figures} of figures"
        );
    }
}

#[test]
fn figures_in_coarse_steps_name_a_difference_in_at_most_one_table_of_twenty() {
    for (repeats, number) in [(2, 2000), (3, 600), (5, 400), (10, 200)] {
        for pairing in [Pairing::Interleaved, Pairing::Apart] {
            let (tables, figures) = named(number, |random| {
                let rounds: Vec<f64> = (0..repeats).map(|_| 0.1 * random.normal()).collect();
                let mut side = || {
                    rounds
                        .iter()
                        .map(|&round| coarse(random, round))
                        .collect::<Vec<_>>()
                };
                let (first, other) = (side(), side());
                compare(pairing, &first, &other)
            });
            println!(
                "{repeats} repeats, {pairing:?}: {:.1} % of tables, {:.2} % of figures",
                tables * 100.0,
                figures * 100.0
            );
            assert!(
                tables <= 0.05 && figures <= 0.05,
                "{repeats} repeats, {pairing:?}: {tables} of tables, {figures} of figures"
            );
        }
    }
}

#[test]
fn runs_of_one_thing_made_apart_name_a_difference_in_at_most_one_table_of_twenty() {
    let (tables, figures) = named(600, |random| {
        let mut side = |runs: usize| (0..runs).map(|_| noisy(random, 0.0)).collect::<Vec<_>>();
        let (first, other) = (side(3), side(5));
        compare(Pairing::Apart, &first, &other)
    });
    println!(
        "3 and 5 runs: {:.1} % of tables, {:.2} % of figures",
        tables * 100.0,
        figures * 100.0
    );
    assert!(
        tables <= 0.05 && figures <= 0.05,
        "{tables} of tables, {figures} of figures"
    );
}

#[test]
fn single_runs_of_one_thing_name_a_difference_in_at_most_one_table_of_twenty() {
    let (tables, figures) = named(600, |random| {
        let (first, other) = (noisy_seconds(random), noisy_seconds(random));
        let comparison = compare(Pairing::Interleaved, &[first], &[other]);
        assert_eq!(comparison.method, Method::WithinRun);
        comparison
    });
    println!(
        "60 seconds: {:.1} % of tables, {:.2} % of figures",
        tables * 100.0,
        figures * 100.0
    );
    assert!(
        tables <= 0.05 && figures <= 0.05,
        "{tables} of tables, {figures} of figures"
    );
}

#[test]
fn difference_of_a_tenth_is_found_by_five_repeats_and_by_a_minute_of_seconds() {
    let mut random = Random(7);
    let (mut first, mut other) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let round = 0.1 * random.normal();
        first.push(noisy(&mut random, round));
        other.push(noisy(&mut random, round + 0.1));
    }
    let comparison = compare(Pairing::Interleaved, &first, &other);
    assert!(
        words(&comparison, "response_time.p99").starts_with("higher by"),
        "{}",
        words(&comparison, "response_time.p99")
    );
    assert!(
        words(&comparison, "rate").starts_with("lower by"),
        "{}",
        words(&comparison, "rate")
    );
    let (first, mut other) = (noisy_seconds(&mut random), noisy_seconds(&mut random));
    other
        .series
        .rows
        .iter_mut()
        .for_each(|row| row.response_time_mean_ns *= 1.1);
    sum_up(&mut other);
    let comparison = compare(Pairing::Apart, &[first], &[other]);
    assert!(
        words(&comparison, "response_time.mean").starts_with("higher by"),
        "{}",
        words(&comparison, "response_time.mean")
    );
    assert!(comparison.row("response_time.p90").is_none());
}
