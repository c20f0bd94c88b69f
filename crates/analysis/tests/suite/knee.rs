//! Closed loops with a rising number of users: knees of the load, and answers that become slower
//! with time.

use crate::limits::{ramp_of_users, speaks};
use analysis::{Document, Verdict, VerdictRecord};

const RULE: &str = "throughput follows load";

/// A run of ten seconds with these users; `answer_ms` is how long an answer takes, by second and
/// users.
fn run(users: [f64; 10], answer_ms: impl Fn(u32, f64) -> f64) -> Document {
    ramp_of_users(|second| {
        let users = users[second as usize];
        let ms = answer_ms(second, users);
        (users, (users * 1000.0 / ms) as u64, ms)
    })
}

const RAMP: [f64; 10] = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 20.0];
const STEPS: [f64; 10] = [10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 20.0, 40.0, 40.0, 40.0];
const STEEP: [f64; 10] = [2.0, 6.0, 10.0, 14.0, 18.0, 23.0, 27.0, 31.0, 36.0, 40.0];

#[test]
fn answers_that_become_slower_at_an_instant_have_no_knee_of_the_load() {
    for (what, users, at, before_ms, after_ms) in [
        ("ramp", RAMP, 5, 50.0, 100.0),
        ("ramp, later", RAMP, 7, 50.0, 100.0),
        ("ramp, earlier", RAMP, 3, 30.0, 60.0),
        ("a step just before", STEPS, 4, 50.0, 100.0),
        (
            "before the step",
            [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 20.0],
            3,
            20.0,
            40.0,
        ),
        ("steep ramp", STEEP, 5, 50.0, 150.0),
    ] {
        let slower = |second: u32, _: f64| if second < at { before_ms } else { after_ms };
        let document = run(users, slower);
        assert!(!speaks(&document, RULE), "{what}");
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, Verdict::Undetermined, "{what}: {record:?}");
    }
    let record = VerdictRecord::new(&run(
        RAMP,
        |second, _| if second < 5 { 50.0 } else { 100.0 },
    ));
    let told = "answers became slower with time, whatever the load";
    assert!(record.evidence.join("; ").contains(told), "{record:?}");
}

#[test]
fn knees_of_the_load_are_found_in_ramps_and_steps_and_beside_a_pause() {
    // The answers per second that the server can give, and how long a single one takes.
    for (what, users, per_second, alone_ms) in [
        ("ramp", STEEP, 80.0, 20.0),
        ("ramp, fast server", STEEP, 4000.0, 2.0),
        ("steps", STEPS, 80.0, 50.0),
        ("steps from beyond it on", STEPS, 400.0, 2.0),
    ] {
        let queue = |_: u32, users: f64| (users * 1000.0 / per_second).max(alone_ms);
        let document = run(users, queue);
        assert!(speaks(&document, RULE), "{what}");
        let record = VerdictRecord::new(&document);
        assert_eq!(record.verdict, Verdict::ServerBound, "{what}: {record:?}");
        // One second with a pause, and scatter of a twentieth.
        let paused = run(users, |second, users| {
            let factor = match second {
                6 => 1.6,
                odd if odd % 2 == 1 => 1.05,
                _ => 0.95,
            };
            queue(second, users) * factor
        });
        assert!(speaks(&paused, RULE), "{what}");
    }
    // A server that carries less the more users wait for it.
    let thrashing = |_: u32, users: f64| 1000.0 * users / (420.0 - 2.0 * users);
    assert!(speaks(&run(STEEP, thrashing), RULE));
}

/// Users that come and go. The second of the change holds answers of both kinds.
#[test]
fn as_many_users_who_are_answered_later_than_before_show_time_and_not_load() {
    let up_and_down = [6.0, 10.0, 14.0, 18.0, 22.0, 22.0, 18.0, 14.0, 10.0, 6.0];
    let later = |second: u32, _: f64| match second {
        0..4 => 40.0,
        4 => 59.0,
        _ => 110.0,
    };
    let document = run(up_and_down, later);
    assert!(!speaks(&document, RULE));
    let record = VerdictRecord::new(&document);
    assert_eq!(record.verdict, Verdict::Undetermined, "{record:?}");
    // A knee of the load is the same on the way down.
    let queue = |_: u32, users: f64| (users * 1000.0 / 200.0).max(40.0);
    let document = run(up_and_down, queue);
    assert!(speaks(&document, RULE));
    assert_eq!(VerdictRecord::new(&document).verdict, Verdict::ServerBound);
}
