//! Errors that lead the verdict, and can show whose limit it is.

use crate::limits::{changed, idle, overloaded, ramp_of_users, run, speaks, with_monitor};
use crate::scene::{CLOSED, OPEN, QUIET};
use analysis::{Document, ErrorFigure, Row, Verdict, VerdictRecord, has_many_errors};

const UNAVAILABLE: &str = "http.status.503";
const TIME_OUT: &str = "http.time_out";
const REFUSED: &str = "connect.refused";
const RULE: &str = "errors rise with load";

/// Adds a kind of error to a run, with this share of its operations, and of each second from `from`
/// to before `until`.
fn failing(mut document: Document, name: &str, share: f64, [from, until]: [u32; 2]) -> Document {
    let drained = Row {
        second: 6,
        ..document.series.rows[5].clone()
    };
    document.series.rows.push(drained);
    let operations = &mut document.measured.operations;
    operations.error_share = Some(share);
    operations.errors = (share * operations.ended as f64) as u64;
    document.measured.errors.insert(
        0,
        ErrorFigure {
            name: name.to_owned(),
            words: "something went wrong".to_owned(),
            count: operations.errors,
            share,
        },
    );
    for row in &mut document.series.rows {
        if (from..until).contains(&row.second) {
            row.errors = row.ended / 2;
            row.errors_by_kind.insert(name.to_owned(), row.errors);
        }
    }
    document
}

fn judged(document: &Document) -> (Verdict, Vec<String>, String) {
    let record = VerdictRecord::new(document);
    (record.verdict, record.evidence, record.missing.join("; "))
}

#[test]
fn errors_come_first_with_their_kind_their_cure_and_their_begin() {
    for (load, from, until, when) in [
        (OPEN, 2, 6, ", from the first second on (bound: 1 %)"),
        (CLOSED, 3, 9, ", from second 3 on (bound: 1 %)"),
        (CLOSED, 3, 5, ", between second 3 and 4 (bound: 1 %)"),
        (OPEN, 4, 5, ", in second 4 (bound: 1 %)"),
    ] {
        let document = failing(run(load, QUIET), UNAVAILABLE, 0.495, [from, until]);
        let (verdict, evidence, missing) = judged(&document);
        assert_eq!(verdict, Verdict::Undetermined, "{evidence:?}");
        assert!(has_many_errors(&document));
        let all = format!("49.5 % of 80 operations ended in an error{when}");
        assert_eq!(evidence[0], all);
        assert_eq!(
            evidence[1],
            "49.5 % of them: something went wrong [http.status.503]"
        );
        assert!(evidence[2].contains("log"), "{evidence:?}");
        assert!(!missing.contains("higher load"), "{missing}");
        let said = evidence.join("; ");
        assert_eq!(said.matches("ended in an error").count(), 1, "{said}");
    }
}

#[test]
fn errors_lead_whatever_the_verdict_and_from_a_hundredth_on() {
    let full = changed(|row| row.accept_queue.as_mut().unwrap().waiting = 9);
    let documents = [
        (overloaded(), Verdict::ServerBound),
        (
            with_monitor(run(CLOSED, QUIET), &full),
            Verdict::ServerBound,
        ),
        (with_monitor(overloaded(), &idle()), Verdict::ServerBound),
    ];
    for (document, wanted) in documents {
        let document = failing(document, TIME_OUT, 0.92, [3, 9]);
        let (verdict, evidence, _) = judged(&document);
        assert_eq!(verdict, wanted, "{evidence:?}");
        assert!(
            evidence[0].starts_with("92.0 % of 80 operations"),
            "{evidence:?}"
        );
        assert!(evidence[1].contains("[http.time_out]"), "{evidence:?}");
    }
    let few = failing(run(CLOSED, QUIET), REFUSED, 0.01, [2, 3]);
    let (_, evidence, missing) = judged(&few);
    assert!(!evidence[0].contains("ended in an error"), "{evidence:?}");
    assert!(missing.contains("higher load"), "{missing}");
    // Operations never sent, or cut at the end, are a consequence of a load that is not carried.
    for name in ["load.not_sent", "http.cut"] {
        let document = failing(overloaded(), name, 0.4, [2, 9]);
        assert!(!has_many_errors(&document), "{name}");
        assert!(
            !judged(&document).1[0].contains("ended in an error"),
            "{name}"
        );
    }
}

/// Ten seconds of users with ten operations per second each, of which the server turns away the
/// share that `refused` returns.
fn refusing(users: [f64; 10], name: &str, refused: impl Fn(usize, f64) -> f64) -> Document {
    let mut document = ramp_of_users(|second| (users[second as usize], 1000, 10.0));
    let rows = document.series.rows.iter_mut();
    for (second, (row, users)) in rows.zip(users).enumerate() {
        let share = refused(second, users);
        *row = Row {
            ended: (users * 10.0) as u64,
            errors: (share * users * 10.0) as u64,
            errors_by_kind: [(name.to_owned(), (share * users * 10.0) as u64)].into(),
            ..row.clone()
        };
    }
    document
}

const RAMP: [f64; 10] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0];
const STEP: [f64; 10] = [20.0, 20.0, 20.0, 20.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0];
const SPIKE: [f64; 10] = [20.0, 20.0, 90.0, 90.0, 90.0, 20.0, 20.0, 20.0, 20.0, 20.0];

/// The share of users beyond 40.
fn beyond(_: usize, users: f64) -> f64 {
    (1.0 - 40.0 / users).max(0.0)
}

#[test]
fn refusals_that_rise_with_the_load_are_the_servers() {
    for users in [RAMP, STEP, SPIKE] {
        for name in [UNAVAILABLE, REFUSED, "connect.reset", "http.status.429"] {
            let document = refusing(users, name, beyond);
            assert!(speaks(&document, RULE), "{users:?} {name}");
            let (verdict, evidence, _) = judged(&document);
            assert_eq!(verdict, Verdict::ServerBound, "{evidence:?}");
        }
        // Unexpected answers are not refusals, and errors beside the load prove nothing.
        for name in ["http.status.404", TIME_OUT] {
            assert!(
                !speaks(&refusing(users, name, beyond), RULE),
                "{users:?} {name}"
            );
        }
        let other: [fn(usize, f64) -> f64; 5] = [
            |_, _| 0.3,
            |second, _| f64::from(second % 2 == 0) * 0.3,
            |second, _| if second < 3 { 0.3 } else { 0.0 },
            |second, _| if second < 7 { 0.0 } else { 0.8 },
            |_, _| 0.0,
        ];
        for (case, refused) in other.into_iter().enumerate() {
            let document = refusing(users, UNAVAILABLE, refused);
            assert!(!speaks(&document, RULE), "{users:?} {case}");
        }
    }
    // A server that starts to fail by itself while the load rises turns away a share of any load.
    let broken = |second: usize, _: f64| if second < 4 { 0.0 } else { 0.2 };
    assert!(!speaks(&refusing(RAMP, UNAVAILABLE, broken), RULE));
}
