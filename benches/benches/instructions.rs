//! Instructions per operation, counted by callgrind, and how they compare with the committed
//! baseline.
//!
//! Each case runs twice under valgrind, with few and with many operations; the difference belongs
//! to the operations alone. The engine works over real sockets, with a server in a process that
//! valgrind does not count. The kernel's instructions are not counted. A count depends on the
//! compiler: a change against the baseline of another compiler is printed, but never fails.
//!
//! `--update` writes the baseline, `--only WORDS` selects cases by name, `--test` runs the short
//! ones.

#[expect(dead_code, reason = "other benches use more of it")]
mod scene;

use benches::{Scenario, flag, is_trial, run, served};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// A case fails if it needs more than this many percent above the baseline.
const TOLERATED_PERCENT: f64 = 3.0;

/// It fails only if all of this many counts do.
const COUNTS: usize = 4;

const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");

/// The operation of a case.
#[derive(Clone, Copy)]
enum Work {
    /// Recording an operation on a reused connection.
    Reusing,
    /// Recording one that opens a connection, with the times of connect and handshake.
    Opening,
    /// An operation of the engine.
    Engine(Scenario),
}

struct Case {
    name: &'static str,
    work: Work,
    few: u64,
    many: u64,
    /// Part of a short run.
    short: bool,
}

const fn engine(
    name: &'static str,
    connection: &'static str,
    tls: &'static str,
    many: u64,
    short: bool,
) -> Case {
    let encrypted = !tls.is_empty();
    Case {
        name,
        work: Work::Engine(Scenario {
            name,
            encrypted,
            connection,
            tls,
        }),
        few: many / 10,
        many,
        short,
    }
}

/// A histogram moves from single values to pages once, after about a thousand values; `few` is
/// larger.
const fn recorder(name: &'static str, work: Work) -> Case {
    Case {
        name,
        work,
        few: 10_000,
        many: 20_000,
        short: true,
    }
}

/// Requests on one connection; `few` is chosen as in [`recorder`].
const fn keep_alive(name: &'static str, tls: &'static str) -> Case {
    Case {
        few: 10_000,
        ..engine(name, "", tls, 20_000, true)
    }
}

const CHEAP: &str = "verify = \"none\", key_exchange = \"cheap\", groups = [\"secp256r1\"]";

const CASES: [Case; 8] = [
    recorder("recorder, connection open", Work::Reusing),
    recorder("recorder, connection opened", Work::Opening),
    keep_alive("http keep-alive request", ""),
    keep_alive("https keep-alive request", "verify = \"once\""),
    engine(
        "connection, full handshake, request",
        "requests = 1",
        "verify = \"once\"",
        100,
        true,
    ),
    engine(
        "connection, full handshake, request, unchecked, cheap P-256",
        "requests = 1",
        CHEAP,
        200,
        false,
    ),
    engine(
        "connection, resumed handshake, request",
        "requests = 1",
        "verify = \"once\", resumption = \"always\"",
        200,
        true,
    ),
    engine(
        "connection, full handshake TLS 1.2, request",
        "requests = 1",
        "verify = \"once\", versions = [\"1.2\"]",
        100,
        false,
    ),
];

fn main() {
    if served() {
        return;
    }
    if let Some(name) = flag("--work") {
        let operations = flag("--operations").and_then(|number| number.parse().ok());
        return CASES
            .iter()
            .filter(|case| case.name == name)
            .for_each(|case| work(case.work, operations.unwrap_or(1)));
    }
    if Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        println!("skipped: valgrind is not installed");
        assert!(
            std::env::var_os("CI").is_none(),
            "with CI set, valgrind must be there"
        );
        return;
    }
    compare();
}

/// Counts, prints, and compares with the baseline.
fn compare() {
    let (compiler, baseline) = read_baseline();
    let comparable = compiler == benches::COMPILER;
    if !comparable {
        println!(
            "the baseline is of {compiler}, this build of {}: changes are shown only",
            benches::COMPILER
        );
    }
    println!("| instructions per operation | now | baseline | change |\n|---|---|---|---|");
    let only = flag("--only").unwrap_or_default();
    let (mut counted, mut failures) = (BTreeMap::new(), Vec::new());
    for case in CASES
        .iter()
        .filter(|case| case.name.contains(&only) && (case.short || !is_trial()))
    {
        let before = baseline.get(case.name).copied();
        let now = least(case, before.unwrap_or(f64::INFINITY));
        counted.insert(case.name.to_owned(), now);
        let Some(before) = before else {
            println!("| {} | {now:.0} | – | – |", case.name);
            continue;
        };
        let percent = (now / before - 1.0) * 100.0;
        println!(
            "| {} | {now:.0} | {before:.0} | {percent:+.2} % |",
            case.name
        );
        if comparable && percent > TOLERATED_PERCENT {
            failures.push(format!("{}: {percent:+.2} %", case.name));
        }
    }
    if std::env::args().any(|argument| argument == "--update") {
        return write_baseline(baseline, counted);
    }
    assert!(
        failures.is_empty(),
        "more than {TOLERATED_PERCENT} % dearer than the baseline:\n{}\nfind out why, or accept \
         it: cargo bench -p benches --bench instructions -- --update",
        failures.join("\n")
    );
}

/// The smallest of a few counts, as long as it is too large: if other programs use the CPU, fewer
/// operations arrive with each wait.
fn least(case: &Case, before: f64) -> f64 {
    let most = before * (1.0 + TOLERATED_PERCENT / 100.0);
    let mut least = per_operation(case);
    for _ in 1..COUNTS {
        if least > most {
            least = least.min(per_operation(case));
        }
    }
    least
}

fn per_operation(case: &Case) -> f64 {
    let (few, many) = (instructions(case, case.few), instructions(case, case.many));
    many.saturating_sub(few) as f64 / (case.many - case.few) as f64
}

/// Instructions of one run under callgrind.
fn instructions(case: &Case, operations: u64) -> u64 {
    let out = std::env::temp_dir().join(format!("cannonade-callgrind-{}", std::process::id()));
    let own = std::env::current_exe().expect("Linux tells a program where it is");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--error-exitcode=9"]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    // At start-up, generators are seeded from the jitter of the CPU, which differs in each run.
    command
        .arg(format!("--toggle-collect={}", case.work.collected()))
        .arg(own);
    command.args(["--work", case.name, "--operations", &operations.to_string()]);
    let status = command
        .stdout(Stdio::null())
        .status()
        .expect("valgrind has just told its version");
    assert!(
        status.success(),
        "{}: valgrind ends with {status}",
        case.name
    );
    let text = std::fs::read_to_string(&out).expect("callgrind writes its profile");
    let _ = std::fs::remove_file(&out);
    let totals = text.lines().find_map(|line| {
        line.strip_prefix("totals: ")
            .or_else(|| line.strip_prefix("summary: "))
    });
    let count = totals
        .and_then(|totals| totals.trim().parse().ok())
        .unwrap_or(0);
    assert!(
        count > 0,
        "{}: callgrind has not met {}: was it inlined or renamed?",
        case.name,
        case.work.collected()
    );
    count
}

impl Work {
    /// The function within which instructions are counted.
    fn collected(self) -> &'static str {
        match self {
            Work::Reusing | Work::Opening => "instructions::end_all*",
            Work::Engine(_) => "engine::worker::Worker::run*",
        }
    }
}

/// The operations themselves, under valgrind.
fn work(work: Work, operations: u64) {
    match work {
        Work::Reusing => end_all(&scene::reusing()[..operations as usize]),
        Work::Opening => end_all(&scene::opening()[..operations as usize]),
        Work::Engine(scenario) => {
            let server = scenario.serve(1);
            let outcome = run(scenario.plan(
                &server,
                &format!("connections = 1, requests = {operations}"),
            ));
            assert_eq!(outcome.measured.counters.ok, operations);
        }
    }
}

#[inline(never)]
fn end_all(operations: &[measure::Operation]) {
    let mut recorder = scene::recorder();
    for operation in operations {
        recorder.end(std::hint::black_box(operation));
    }
}

/// The compiler, and the instructions per operation of each case.
fn read_baseline() -> (String, BTreeMap<String, f64>) {
    let text = std::fs::read_to_string(BASELINE).unwrap_or_default();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let compiler = lines.next().unwrap_or("no compiler").to_owned();
    let row = |line: &str| {
        let (count, name) = line.split_once(' ')?;
        Some((name.trim().to_owned(), count.parse().ok()?))
    };
    (compiler, lines.filter_map(row).collect())
}

fn write_baseline(mut rows: BTreeMap<String, f64>, counted: BTreeMap<String, f64>) {
    rows.extend(counted);
    rows.retain(|name, _| CASES.iter().any(|case| case.name == name));
    let head = "# Instructions per operation, by callgrind; written by `cargo bench -p benches \
                --bench instructions -- --update`.\n";
    let rows: String = rows
        .iter()
        .map(|(name, count)| format!("{count:.0} {name}\n"))
        .collect();
    std::fs::write(BASELINE, format!("{head}{}\n{rows}", benches::COMPILER))
        .expect("the bench's folder can be written");
    println!("written: {BASELINE}");
}
