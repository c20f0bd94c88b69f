//! People look at a run while it goes on. How a browser shows the page is tested elsewhere.

use crate::program::command::{ENDLESS, Folder, Running, assert_code, wait_until};
use crate::program::viewer::{address_in, ask, begin};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Most followers of a run at once.
const FOLLOWERS_MAX: usize = 200;

/// More pages than fit into the buffers of both ends.
const PAGES: usize = 200;

/// How long a viewer that takes nothing is waited for.
const TAKE_MAX: Duration = Duration::from_secs(10);

fn start(folder: &Folder, address: &str) -> (Running, String) {
    let arguments = [
        "start",
        "--local",
        "--quiet",
        "--dashboard",
        address,
        "plan.toml",
    ];
    let mut running = folder.begin(&arguments);
    let url = running.shown_url();
    (running, url)
}

fn assert_status(answer: &(String, String), status: &str) {
    let is_so = answer.0.starts_with(&format!("HTTP/1.1 {status}"));
    assert!(is_so, "{status} was to come: {answer:?}");
}

/// The next version that the events announce.
fn version(events: &mut impl BufRead) -> u64 {
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "no more is told");
    }
    line["data: ".len()..].trim().parse().unwrap()
}

/// Number of seconds that the page draws.
fn seconds(page: &str) -> usize {
    let (_, data) = page.split_once("\"seconds\":[").unwrap_or_default();
    let (seconds, _) = data.split_once(']').unwrap_or_default();
    seconds
        .split(',')
        .filter(|second| !second.is_empty())
        .count()
}

#[test]
fn page_tells_of_newer_versions_of_itself() {
    let folder = Folder::with_plan(ENDLESS);
    let (running, url) = start(&folder, "0");
    let address = address_in(&url);
    assert_eq!(url, format!("{address}/"));
    assert!(address.starts_with("127.0.0.1:"), "{address}");

    let mut events = BufReader::new(begin(address, "GET /events", address));
    let mut newest = 0;
    wait_until("three seconds on the page", || {
        let told = version(&mut events);
        assert!(told >= newest, "{told} after {newest}");
        newest = told;
        let (head, page) = ask(address, "GET /", address);
        let shown = page.split_once("data-version=\"").unwrap().1;
        let shown: u64 = shown.split_once('"').unwrap().0.parse().unwrap();
        assert!(
            shown >= told,
            "{shown} is older than {told}, which was told"
        );
        for header in [
            "cache-control: no-store",
            "content-security-policy: frame-ancestors 'none'",
            "content-type: text/html; charset=utf-8",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
        ] {
            assert!(head.contains(header), "{header} is not in {head}");
        }
        seconds(&page) >= 3
    });
    drop(events);

    // A stranger's page whose name leads here sees nothing.
    for (request, host, status) in [
        ("GET /", "evil.test", "403"),
        ("GET /events", "evil.test", "403"),
        ("GET /x", address, "404"),
        ("GET /metrics", address, "404"),
        ("POST /", address, "405"),
        ("HEAD /", "localhost", "200"),
    ] {
        assert_status(&ask(address, request, host), status);
    }
    running.signal("INT");
    assert_code(&running.end(), 130);
    folder.assert_nothing_is_left();
}

#[test]
fn as_many_as_may_follow_keep_nobody_from_the_page() {
    let folder = Folder::with_plan(ENDLESS);
    let (running, url) = start(&folder, "0");
    let address = address_in(&url);
    let mut followers: Vec<TcpStream> = (0..FOLLOWERS_MAX)
        .map(|_| begin(address, "GET /events", address))
        .collect();
    // The last of them was answered, so the others were too.
    version(&mut BufReader::new(followers.last_mut().unwrap()));
    wait_until("one too many", || {
        let answer = ask_events(address);
        answer.starts_with("HTTP/1.1 503")
    });
    for _ in 0..3 {
        assert_status(&ask(address, "GET /", address), "200");
    }
    followers.pop();
    wait_until("a free place", || {
        ask_events(address).starts_with("HTTP/1.1 200")
    });
    // Followers that do not leave hold up the end for a moment.
    running.signal("INT");
    assert_code(&running.end(), 130);
    folder.assert_nothing_is_left();
}

/// The first line of the answer.
fn ask_events(address: &str) -> String {
    let mut line = String::new();
    let mut answer = BufReader::new(begin(address, "GET /events", address));
    answer.read_line(&mut line).unwrap();
    line
}

#[test]
fn whoever_takes_nothing_is_not_waited_for() {
    let folder = Folder::with_plan(ENDLESS);
    let (running, url) = start(&folder, "0");
    let address = address_in(&url);
    let mut stuck = TcpStream::connect(address).unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stuck.write_all(request.repeat(PAGES).as_bytes()).unwrap();
    std::thread::sleep(TAKE_MAX * 2);
    // The bytes that can be read now were in the buffers of both ends; the rest does not come.
    let mut taken = Vec::new();
    let _ = stuck.read_to_end(&mut taken);
    let head = b"HTTP/1.1 200 OK";
    let pages = taken.windows(head.len()).filter(|part| part == head);
    assert!(pages.count() < PAGES, "{} bytes came", taken.len());
    running.signal("INT");
    assert_code(&running.end(), 130);
    folder.assert_nothing_is_left();
}

#[test]
fn other_machines_need_the_path() {
    let folder = Folder::with_plan(ENDLESS);
    let (running, url) = start(&folder, ":0");
    let (host, path) = url.split_once('/').unwrap();
    let (_, port) = host.rsplit_once(':').unwrap();
    let address = format!("127.0.0.1:{port}");
    assert!(path.len() > 20 && path.ends_with('/'), "{url}");
    let other = path.replace(|_: char| true, "A");
    for (path, status) in [
        ("", "404"),
        ("events", "404"),
        (&other, "404"),
        (&path[1..], "404"),
        (&format!("{path}x"), "404"),
        (path, "200"),
    ] {
        let answer = ask(&address, &format!("GET /{path}"), "load-1.example");
        assert_status(&answer, status);
        let is_named = answer.0.contains(path) || answer.1.contains(path);
        assert!(path.is_empty() || !is_named, "{path} is in {answer:?}");
    }
    let events = begin(&address, &format!("GET /{path}events"), "load-1.example");
    version(&mut BufReader::new(events));
    running.signal("INT");
    assert_code(&running.end(), 130);
    folder.assert_nothing_is_left();
}
