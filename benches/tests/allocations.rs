//! A load thread allocates nothing per keep-alive request, over HTTP and HTTPS.
//!
//! Each case runs twice, with few and with many requests. The difference belongs to the requests
//! alone, since both runs contain start-up, handshakes and the cuts of the recorder. `--
//! --nocapture` prints the figures and the places of the remaining allocations.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts cannot be written without"
)]

use benches::{Outcome, parse, run};
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use target::{Config, RunningTarget, ServerTls};

const FEW: u64 = 2_000;
const MANY: u64 = 22_000;

/// A run that takes one second more than the other creates histograms for it. A request that
/// allocates would add 20,000 allocations.
const NOISE: f64 = 0.02;

/// Name, whether over TLS, `[tls]` without the CA, and `[load]` without the number of requests.
const CASES: [(&str, bool, &str, &str); 5] = [
    ("HTTP, closed loop", false, "", "connections = 10"),
    (
        "HTTP, open loop",
        false,
        "",
        "rate = \"20000/s\", max_connections = 50",
    ),
    ("HTTPS, closed loop", true, "", "connections = 10"),
    (
        "HTTPS, open loop",
        true,
        "",
        "rate = \"20000/s\", max_connections = 50",
    ),
    (
        "HTTPS by TLS 1.2, closed loop",
        true,
        "versions = [\"1.2\"]",
        "connections = 10",
    ),
];

#[test]
fn keep_alive_requests_allocate_nothing() {
    let measured = CASES.map(|(name, encrypted, tls, load)| {
        let (few, _) = allocations(encrypted, tls, load, FEW);
        let (many, stacks) = allocations(encrypted, tls, load, MANY);
        let each = (many as f64 - few as f64) / (MANY - FEW) as f64;
        println!("{name}: {each:.3} allocations per request ({few} in {FEW}, {many} in {MANY})");
        (name, each, stacks)
    });
    for (name, each, stacks) in measured {
        if each > NOISE {
            println!(
                "\n{name}, from the innermost frame out:\n{}",
                commonest(&stacks)
            );
        }
        assert!(each <= NOISE, "{name}: {each:.3} allocations per request");
    }
}

/// The allocations of the load thread in a run of `requests` requests, and samples of their places.
fn allocations(encrypted: bool, tls: &str, load: &str, requests: u64) -> (u64, Vec<Backtrace>) {
    let server = RunningTarget::new(Config {
        tls: encrypted.then(ServerTls::default),
        ..Config::default()
    })
    .expect("loopback has a free port");
    let tls = if encrypted {
        format!("tls = {{ ca = \"bench-ca.pem\", {tls} }}\n")
    } else {
        String::new()
    };
    let text = format!(
        "target.url = \"{}\"\n{tls}load = {{ {load}, requests = {requests} }}\n",
        server.url("/")
    );
    samples().clear();
    // Not earlier: resolving the names of a sample allocates while it holds the lock that taking a
    // sample needs.
    IS_SAMPLING.store(true, Relaxed);
    let outcome: Outcome = run(parse(&text, server.ca_pem()));
    IS_SAMPLING.store(false, Relaxed);
    assert_eq!(outcome.measured.counters.operations_ended(), requests);
    assert_eq!(outcome.measured.counters.ok, requests);
    let thread = outcome.workers[0].thread_id;
    let mut taken = std::mem::take(&mut *samples());
    taken.retain(|(of, _)| *of == thread);
    (
        of_thread(thread),
        taken.into_iter().map(|(_, stack)| stack).collect(),
    )
}

/// The frames of engine and rustls in the samples: each distinct stack with its share, the most
/// common first.
fn commonest(samples: &[Backtrace]) -> String {
    let mut stacks: Vec<(usize, String)> = Vec::new();
    for stack in samples.iter().map(frames) {
        match stacks.iter_mut().find(|(_, known)| *known == stack) {
            Some((number, _)) => *number += 1,
            None => stacks.push((1, stack)),
        }
    }
    stacks.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    stacks
        .iter()
        .take(6)
        .map(|(number, stack)| format!("{number} of {} samples\n{stack}\n", samples.len()))
        .collect()
}

fn frames(stack: &Backtrace) -> String {
    let text = stack.to_string();
    let names = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("at "));
    let own = names
        .filter_map(|line| line.split_once(": "))
        .map(|(_, name)| name);
    let own = own.filter(|name| {
        ["rustls", "engine", "measure"]
            .iter()
            .any(|part| name.contains(part))
    });
    own.take(7).map(|name| format!("    {name}\n")).collect()
}

/// More threads than a test ever has.
const THREADS: usize = 4096;
/// One in this many allocations of a thread is sampled, so that start-up is over by the first one.
const SAMPLED: u64 = 97;
const START_UP: u64 = 5_000;

static COUNTS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
static THREAD_IDS: [AtomicI32; THREADS] = [const { AtomicI32::new(0) }; THREADS];
static IS_SAMPLING: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static SAMPLES: Mutex<Vec<(i32, Backtrace)>> = Mutex::new(Vec::new());

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
    static IN_SAMPLE: Cell<bool> = const { Cell::new(false) };
}

fn samples() -> MutexGuard<'static, Vec<(i32, Backtrace)>> {
    SAMPLES.lock().expect("nobody panics while taking a sample")
}

fn of_thread(id: i32) -> u64 {
    let place = THREAD_IDS
        .iter()
        .position(|known| known.load(Relaxed) == id);
    place.map_or(0, |place| COUNTS[place].load(Relaxed))
}

fn count() {
    if IN_SAMPLE.get() {
        return;
    }
    let place = PLACE.get().unwrap_or_else(|| {
        let place = NEXT.fetch_add(1, Relaxed) % THREADS;
        THREAD_IDS[place].store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
        PLACE.set(Some(place));
        place
    });
    let number = COUNTS[place].fetch_add(1, Relaxed);
    if number > START_UP && number.is_multiple_of(SAMPLED) && IS_SAMPLING.load(Relaxed) {
        IN_SAMPLE.set(true);
        // Names are resolved when the stack is printed.
        let stack = Backtrace::force_capture();
        samples().push((THREAD_IDS[place].load(Relaxed), stack));
        IN_SAMPLE.set(false);
    }
}

struct Counting;

// SAFETY: every call is passed to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds GlobalAlloc's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
