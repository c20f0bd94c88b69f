//! The seeds of the corpora: real inputs, made by the code that writes them, or by hand if a
//! foreign program writes them. With `WRITE_CORPUS=1` these tests write them anew. Inputs found by
//! fuzzing are kept beside them, and are never overwritten.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use control::{CoordinatorId, Digest, INTERVAL_PART_BYTES, JoinSecret, RunId, Token};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use fuzz::script::ScriptWriter;
use measure::{Snapshot, Totals};
use prost::Message as _;
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Armed, Beat, Began, Bytes, Clock, Ended, FilePart, FromAgent, FromCoordinator, Go, Grant,
    HeldRun, Hello, IntervalPart, Note, Notice, PROTOCOL, Prepare, Prepared, Received, Refused,
    Release, Resume, SharePart, Start, Stop, TakeOver, TookOver, Want, Welcome,
};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first run of the target `fleet`.
const RUN: RunId = RunId([1; 16]);

/// A seed: file name and content.
type Seed = (String, Vec<u8>);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn folder(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

fn named(seeds: Vec<(&str, Vec<u8>)>) -> Vec<Seed> {
    let seeds = seeds.into_iter();
    seeds.map(|(name, seed)| (name.to_owned(), seed)).collect()
}

/// Writes the seeds if asked to. Returns the content of the files in either case.
fn kept(target: &str, seeds: Vec<Seed>) -> Vec<Vec<u8>> {
    let folder = folder(target);
    if std::env::var_os("WRITE_CORPUS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        seeds
            .iter()
            .for_each(|(name, seed)| fs::write(folder.join(name), seed).unwrap());
    }
    let read = |(name, _): &Seed| {
        fs::read(folder.join(name))
            .unwrap_or_else(|error| panic!("{target}/{name}: {error}; write it by WRITE_CORPUS=1"))
    };
    seeds.iter().map(read).collect()
}

/// The logs that `traffic` is tested with, written by servers and tools.
#[test]
fn logs() {
    let names = [
        "apache-common.log",
        "apache-vhost-combined.log",
        "goreplay.gor",
        "mitmproxy.har",
        "nginx-combined.log",
        "nginx-json.log",
        "vegeta-results.json",
        "vegeta-targets.json",
    ];
    let read = |name: &str| fs::read(root().join("crates/traffic/tests/logs").join(name)).unwrap();
    let seeds = names.map(|name| (name, read(name)));
    for seed in kept("log", named(seeds.to_vec())) {
        fuzz::log(&seed);
    }
    let formats = [
        (
            "nginx",
            "$msec $request_time \"$request\" $status $connection $connection_requests",
        ),
        (
            "apache",
            "%t.%{usec_frac}t %D \"%m\" \"%U%q\" %>s %k \"%{Host}i\"",
        ),
    ];
    let lines = [
        "1795592127.568 1.502 \"GET /slow?a HTTP/1.1\" 499 17 2",
        "[25/Nov/2026:07:36:15 +0000].459703 336 \"GET\" \"/a?b\" 200 0 \"a.test\"",
    ];
    let seeds = formats.into_iter().zip(lines);
    let seeds = seeds
        .map(|((name, format), line)| (name, format!("{format}\n{line}\n{line}\n").into_bytes()));
    for seed in kept("log_format", named(seeds.collect())) {
        fuzz::log_format(&seed);
    }
}

/// The examples, and every piece of a plan in the documentation.
#[test]
fn plans() {
    let mut seeds: Vec<Seed> = fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == "toml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    seeds.sort();
    let documentation = fs::read_to_string(root().join("docs/PLAN.md")).unwrap();
    let shown: Vec<&str> = documentation
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(shown.len() > 5, "{} pieces", shown.len());
    seeds.push(("documentation".to_owned(), shown.join("\n").into_bytes()));
    let shown = (1..).zip(shown);
    seeds.extend(shown.map(|(nth, text)| (format!("documentation-{nth:02}"), text.into())));
    let kept = kept("plan", seeds);
    let settings = plan::Settings {
        environment: &|name| Ok(name.to_owned()),
        ..plan::Settings::NONE
    };
    let is_read =
        |text: &&Vec<u8>| plan::Campaign::parse_bytes(text, &mut EchoingFiles, settings).is_ok();
    assert!(
        kept.iter().filter(is_read).count() >= 5,
        "no seed is a plan"
    );
}

struct EchoingFiles;

impl plan::Files for EchoingFiles {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        Ok(name.as_bytes().into())
    }
}

/// JSON without the whitespace for people.
fn packed(json: &str) -> Vec<u8> {
    json.lines()
        .map(str::trim_start)
        .collect::<String>()
        .into_bytes()
}

#[test]
fn saved_runs() {
    let golden = |name: &str| {
        let path = root().join("crates/report/tests/golden").join(name);
        packed(&fs::read_to_string(path).unwrap())
    };
    let least = br#"{"schema":1}"#.to_vec();
    let result = vec![
        ("golden", golden("result-v1.json")),
        ("least", least.clone()),
    ];
    let result = kept("result", named(result));
    assert!(report::read(&result[0]).is_ok());
    let campaign = vec![("golden", golden("campaign-v1.json")), ("least", least)];
    let campaign = kept("campaign", named(campaign));
    assert!(report::read_campaign(&campaign[0]).is_ok());
}

#[test]
fn run_logs() {
    let golden = root().join("crates/run_folder/src/run_log/tests/version-1.log");
    let small = coordinator::fuzzing::small_run_log();
    // What a coordinator leaves behind if it is killed in the middle of a write.
    let torn = [&small[..], &small[32..80]].concat();
    let seeds = vec![
        ("golden", fs::read(golden).unwrap()),
        ("small", small),
        ("torn", torn),
        ("batch", coordinator::fuzzing::small_run_batch()),
    ];
    kept("run_log", named(seeds));
}

/// Data that expands a thousandfold, after the version byte of a snapshot.
fn bomb(version: u8) -> Vec<u8> {
    let mut deflated = DeflateEncoder::new(vec![version], Compression::best());
    deflated.write_all(&vec![0; 4 << 20]).unwrap();
    deflated.finish().unwrap()
}

fn inflated(deflated: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = DeflateDecoder::new(deflated);
    decoder.read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn measured() {
    let golden =
        |name: &str| fs::read(root().join("crates/measure/tests/golden").join(name)).unwrap();
    let empty = Snapshot::default().encode();
    let snapshots = vec![
        ("golden", golden("snapshot-v7.bin")),
        ("bomb", bomb(empty[0])),
        ("empty", empty),
        ("plain", inflated(&golden("snapshot-v7.bin")[1..])),
    ];
    let snapshots = kept("snapshot", named(snapshots));
    let is_read = |seed: &Vec<u8>| Snapshot::decode(seed).is_ok();
    assert_eq!(
        snapshots.iter().map(is_read).collect::<Vec<_>>(),
        [true, false, true, false]
    );
    let totals = vec![
        ("golden", golden("totals-v3.bin")),
        ("empty", Totals::default().encode()),
    ];
    let totals = kept("totals", named(totals));
    assert!(totals.iter().all(|seed| Totals::decode(seed).is_ok()));
}

#[test]
fn words() {
    let token = Token::new([7; 32], JoinSecret::new([8; 32])).reveal();
    let tokens = vec![
        ("token", token.clone().into_bytes()),
        ("spaces", format!(" {token}\n").into_bytes()),
        ("cut", token.as_bytes()[..40].to_vec()),
    ];
    assert!(
        std::str::from_utf8(&kept("token", named(tokens))[0])
            .unwrap()
            .parse::<Token>()
            .is_ok()
    );
    let addresses = [
        "coordinator.lan:7711",
        "10.0.0.1:1",
        "[2001:db8::1]:65535",
        "[fe80::1%eth0]:7711",
        "https://host:7711",
    ];
    let addresses = (1..).zip(addresses);
    kept(
        "address",
        addresses
            .map(|(n, text)| (n.to_string(), text.into()))
            .collect(),
    );
    let policies = [
        "192.0.2.0/25\n198.51.100.7:8443\n2001:db8::/32\nEDGE.example:443\n0.0.0.0/0\n::/0",
        "[2001:db8::7]:443\n[2001:db8::]/32\nhost:0\n192.0.2.0/33\n*\n.\nother.example",
        "::ffff:192.0.2.7/128\n::ffff:0:0/96",
    ];
    let policies = (1..).zip(policies);
    kept(
        "policy",
        policies
            .map(|(n, text)| (n.to_string(), text.into()))
            .collect(),
    );
}

fn up(message: Up) -> Vec<u8> {
    let message = Some(message);
    FromAgent { message }.encode_to_vec()
}

fn down(message: Down) -> Vec<u8> {
    let message = Some(message);
    FromCoordinator { message }.encode_to_vec()
}

fn hello(agent: u8) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: "1".into(),
        agent_id: Bytes::copy_from_slice(&[agent; 16]),
        name: format!("agent-{agent}"),
        labels: [("zone".to_owned(), "a".to_owned())].into(),
        workers: 2,
        ..Hello::default()
    }
}

fn back(agent: u8) -> Hello {
    Hello {
        held_runs: vec![HeldRun {
            run_id: RUN.to_wire(),
            epoch: 1,
        }],
        ..hello(agent)
    }
}

fn clock() -> Option<Clock> {
    Some(Clock {
        offset_ns: -5,
        bound_ns: 500,
    })
}

fn beat(sequence: u64) -> Up {
    Up::Beat(Beat {
        sequence,
        clock: clock(),
    })
}

fn prepared() -> Up {
    Up::Prepared(Prepared {
        run_id: RUN.to_wire(),
        plan_digest: Digest([1; 32]).to_wire(),
        addresses: vec!["192.0.2.1:443".into()],
        workers: 2,
        clock: clock(),
        ..Prepared::default()
    })
}

fn began() -> Up {
    Up::Began(Began {
        run_id: RUN.to_wire(),
        began_at_ns: 2_000_000_000,
        bound_ns: 500,
    })
}

fn part(interval: u32, part: u32, parts: u32, totals: bool) -> Up {
    Up::Interval(IntervalPart {
        run_id: RUN.to_wire(),
        interval,
        part,
        parts,
        content: Bytes::from_static(b"content"),
        totals,
    })
}

fn ended(cause: proto::EndCause) -> Up {
    Up::Ended(Ended {
        run_id: RUN.to_wire(),
        cause: cause.into(),
        clock: clock(),
        ..Ended::default()
    })
}

fn armed(attempt: u32) -> Up {
    Up::Armed(Armed {
        run_id: RUN.to_wire(),
        attempt,
    })
}

fn note() -> Up {
    Up::Note(Note {
        run_id: RUN.to_wire(),
        event: "policy".into(),
        text: "refused".into(),
    })
}

fn ups() -> Vec<(&'static str, Vec<u8>)> {
    let want = Want {
        run_id: RUN.to_wire(),
        sha256: vec![Digest([2; 32]).to_wire()],
    };
    let took_over = TookOver {
        run_id: RUN.to_wire(),
        number: 1,
        problem: "no".into(),
        from_ns: 0,
    };
    vec![
        ("hello", up(Up::Hello(back(1)))),
        ("beat", up(beat(7))),
        ("prepared", up(prepared())),
        ("began", up(began())),
        ("interval", up(part(3, 0, 2, false))),
        ("ended", up(ended(proto::EndCause::Failed))),
        ("note", up(note())),
        ("want", up(Up::Want(want))),
        ("armed", up(armed(1))),
        ("took-over", up(Up::TookOver(took_over))),
    ]
}

fn prepare() -> Prepare {
    Prepare {
        run_id: RUN.to_wire(),
        run_name: "run".into(),
        plan: "plan".into(),
        plan_digest: Digest::from_content(b"plan").to_wire(),
        agents: 1,
        epoch: 1,
        lease_ns: 5_000_000_000,
        ..Prepare::default()
    }
}

fn start(attempt: u32) -> Down {
    Down::Start(Start {
        run_id: RUN.to_wire(),
        start_at_ns: 3_000_000_000,
        attempt,
    })
}

fn ack(stored: Stored) -> Down {
    Down::Ack(Ack {
        run_id: RUN.to_wire(),
        stored: Some(stored),
    })
}

fn welcome() -> Welcome {
    Welcome {
        coordinator_version: "1".into(),
        coordinator_id: CoordinatorId([9; 16]).to_wire(),
        clock_id: CoordinatorId([9; 16]).to_wire(),
        resumes: vec![],
    }
}

fn welcome_back() -> Welcome {
    Welcome {
        resumes: vec![Resume {
            run_id: RUN.to_wire(),
            stored_below: 1,
            interval: 1,
            totals: false,
            parts: 1,
            epoch: 1,
        }],
        ..welcome()
    }
}

fn downs() -> Vec<(&'static str, Vec<u8>)> {
    let run_id = RUN.to_wire();
    let file = FilePart {
        run_id: run_id.clone(),
        sha256: Digest::from_content(b"file").to_wire(),
        size_bytes: 4,
        offset_bytes: 0,
        content: Bytes::from_static(b"file"),
    };
    let grant = Grant {
        sequence: 7,
        coordinator_at_ns: 1,
        lease_ns: 5_000_000_000,
        run_id: run_id.clone(),
    };
    let take_over = TakeOver {
        run_id: run_id.clone(),
        number: 1,
        agent_index: 2,
        parts: vec![SharePart { part: 0, parts: 3 }],
        from_ns: 9_000_000_000,
    };
    let received = Received {
        run_id: run_id.clone(),
        interval: 3,
        totals: false,
        parts: 2,
    };
    let refused = Refused {
        reason: "no".into(),
        r#final: true,
    };
    let stop = Stop {
        run_id: run_id.clone(),
        now: true,
    };
    let go = Go {
        run_id: run_id.clone(),
        attempt: 1,
    };
    let text = "wait".into();
    vec![
        ("welcome", down(Down::Welcome(welcome_back()))),
        ("refused", down(Down::Refused(refused))),
        ("notice", down(Down::Notice(Notice { text }))),
        ("grant", down(Down::Grant(grant))),
        ("prepare", down(Down::Prepare(prepare()))),
        ("file", down(Down::File(file))),
        ("start", down(start(1))),
        ("go", down(Down::Go(go))),
        ("ack", down(ack(Stored::Interval(3)))),
        ("received", down(Down::Received(received))),
        ("take-over", down(Down::TakeOver(take_over))),
        ("stop", down(Down::Stop(stop))),
        ("release", down(Down::Release(Release { run_id }))),
    ]
}

#[test]
fn messages() {
    let seeds = [ups(), downs()].concat();
    let kept = kept("messages", named(seeds));
    let is_read = |seed: &Vec<u8>| {
        FromAgent::decode(seed.as_slice()).is_ok()
            || FromCoordinator::decode(seed.as_slice()).is_ok()
    };
    assert!(kept.iter().all(is_read));
}

/// A coordinator's day, step by step; see the target `fleet`.
#[derive(Default)]
struct Day(ScriptWriter);

impl Day {
    fn open(&mut self, slot: u8) -> &mut Day {
        self.raw(&[slot << 4])
    }

    fn close(&mut self, slot: u8) -> &mut Day {
        self.raw(&[slot << 4 | 1])
    }

    fn run(&mut self, agents: u8, rules: u8) -> &mut Day {
        self.raw(&[2, agents, rules, 0x99])
    }

    fn stop(&mut self) -> &mut Day {
        self.raw(&[3, 0])
    }

    fn deliver(&mut self) -> &mut Day {
        self.raw(&[4])
    }

    /// Lets about `seconds` seconds pass.
    fn pass(&mut self, seconds: u8) -> &mut Day {
        for _ in 0..seconds {
            self.raw(&[5, 0x7f]).raw(&[5, 0x74]);
        }
        self
    }

    fn say(&mut self, slot: u8, message: Up) -> &mut Day {
        self.raw(&[slot << 4 | 6]);
        self.0.bytes(&up(message));
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Day {
        self.0.raw(bytes);
        self
    }

    /// Two agents that are ready and begin.
    fn going(rules: u8) -> Day {
        let mut day = Day::default();
        day.open(0).say(0, Up::Hello(hello(0)));
        day.open(1).say(1, Up::Hello(hello(1)));
        day.run(2, rules);
        for slot in 0..2 {
            day.say(slot, beat(1))
                .say(slot, prepared())
                .say(slot, armed(1));
        }
        day.pass(1).say(0, began()).say(1, began());
        for slot in 0..2 {
            day.say(slot, part(0, 0, 1, false))
                .deliver()
                .say(slot, beat(2));
        }
        day
    }

    fn end(&mut self, slot: u8) -> &mut Day {
        let plan = proto::EndCause::Plan;
        self.say(slot, part(1, 0, 1, true))
            .deliver()
            .say(slot, ended(plan))
    }
}

#[test]
fn fleets() {
    let whole = |mut day: Day| {
        day.end(0).end(1).pass(1);
        day.0.finish()
    };
    let lost = |rules| {
        let mut day = Day::going(rules);
        day.close(1).pass(4).say(0, beat(3)).pass(4).say(0, beat(4));
        day.end(0);
        for _ in 0..9 {
            day.pass(4);
        }
        day.0.finish()
    };
    let mut cut = Day::going(0);
    cut.close(1).open(2).say(2, Up::Hello(back(1)));
    cut.say(2, part(1, 0, 2, false))
        .say(2, part(1, 1, 2, false));
    cut.deliver().end(2).end(0);
    let mut stopped = Day::going(1);
    stopped.stop().stop().pass(2).end(0).end(1);
    let mut gathering = Day::default();
    gathering.open(3).say(3, Up::Hello(hello(3))).run(2, 0x10);
    gathering
        .raw(&[5, 0x9f])
        .open(4)
        .say(4, Up::Hello(hello(4)));
    let seeds = vec![
        ("whole", whole(Day::going(0))),
        ("whole-redistribute", whole(Day::going(2))),
        ("lost", lost(0)),
        ("lost-continue", lost(0b0101)),
        ("lost-redistribute", lost(0b0110)),
        ("cut", cut.0.finish()),
        ("stopped", stopped.0.finish()),
        ("gathering", gathering.0.finish()),
    ];
    kept("fleet", named(seeds));
}

/// An agent's day, step by step; see the target `session`.
#[derive(Default)]
struct Duty(ScriptWriter);

impl Duty {
    fn raw(&mut self, bytes: &[u8]) -> &mut Duty {
        self.0.raw(bytes);
        self
    }

    fn hear(&mut self, message: Down) -> &mut Duty {
        self.raw(&[10]);
        self.0.bytes(&down(message));
        self
    }

    fn grant(&mut self) -> &mut Duty {
        self.raw(&[5, 0x51, 0x85])
    }

    fn connect(&mut self, welcome: Welcome) -> &mut Duty {
        self.raw(&[9, 3]).hear(Down::Welcome(welcome));
        self.grant().raw(&[9]).grant()
    }

    fn report(&mut self, what: u8, content: &[u8]) -> &mut Duty {
        self.raw(&[6, what]);
        if !content.is_empty() {
            self.0.bytes(content);
        }
        self
    }

    fn firing() -> Duty {
        let mut duty = Duty::default();
        duty.connect(welcome())
            .hear(Down::Prepare(prepare()))
            .report(0, b"");
        for _ in 0..12 {
            duty.grant().raw(&[9]);
        }
        duty.hear(start(1)).grant().grant().raw(&[1, 0x74]);
        duty.report(3, b"")
            .report(4, b"first second")
            .raw(&[7])
            .grant();
        duty
    }
}

#[test]
fn sessions() {
    let mut whole = Duty::firing();
    whole
        .hear(ack(Stored::Interval(0)))
        .report(4, b"second")
        .raw(&[7])
        .hear(ack(Stored::Interval(1)));
    whole
        .report(6, b"totals")
        .raw(&[7])
        .hear(ack(Stored::Totals(2)));
    let release = Release {
        run_id: RUN.to_wire(),
    };
    whole.hear(Down::Release(release));
    let mut cut = Duty::firing();
    cut.raw(&[4, 0])
        .connect(welcome_back())
        .raw(&[7])
        .report(6, b"totals")
        .raw(&[7]);
    let mut expired = Duty::firing();
    expired
        .raw(&[2, 0x9f, 0, 9])
        .report(6, b"")
        .raw(&[1, 0x9f, 9]);
    let mut quitting = Duty::firing();
    quitting.raw(&[8, 9, 0]).report(6, b"").raw(&[8]);
    let mut large = Duty::firing();
    large
        .report(4, &vec![b'x'; 2 * INTERVAL_PART_BYTES.min(4_000)])
        .raw(&[7]);
    let mut all = Duty::firing();
    downs().into_iter().for_each(|(_, message)| {
        all.raw(&[10]);
        all.0.bytes(&message);
        all.raw(&[9]).grant();
    });
    let seeds = vec![
        ("whole", whole.0.finish()),
        ("cut", cut.0.finish()),
        ("expired", expired.0.finish()),
        ("quitting", quitting.0.finish()),
        ("large", large.0.finish()),
        ("every-message", all.0.finish()),
    ];
    kept("session", named(seeds));
}

#[test]
fn responses() {
    let texts: [(&str, &[u8]); 9] = [
        (
            "length",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
              HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ),
        (
            "chunked",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n\
              A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
        ),
        (
            "until-end",
            b"HTTP/1.0 200 OK\r\nServer: a\r\n\r\nuntil the end",
        ),
        (
            "interim",
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
              HTTP/1.1 204 No Content\r\n\r\n",
        ),
        (
            "not-modified",
            b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 99\r\n\r\n\
              HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ),
        (
            "folded",
            b"HTTP/1.1 200 OK\r\nA: b\r\n  c\r\nContent-Length: 3, 3\r\n\r\nabc",
        ),
        ("newer", b"\r\nHTTP/1.7 200 OK\nContent-Length: 1\n\nx"),
        (
            "both",
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
              3\r\nabc\r\n0\r\n\r\n",
        ),
        (
            "edges",
            b"HTTP/1.1 200\r\nContent-Length: 18446744073709551615\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
        ),
    ];
    let seeds = (0_u8..).zip(texts);
    let seeds = seeds.map(|(nth, (name, text))| (name, [&[0, nth], text].concat()));
    kept("http1", named(seeds.collect()));
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Steps of the target `http2` that first open a stream on each lane.
fn streams(seed: u8, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = ScriptWriter::default();
    writer
        .raw(&[seed, 0, 5])
        .bytes(&frame(4, 0, 0, &[0, 3, 0, 0, 0, 4]));
    writer.raw(&[0x10, 0x21, 0x32, 0xff, 0xff, 4]);
    writer.raw(&[5]).bytes(&frames.concat()).raw(&[4]);
    writer.finish()
}

/// Steps of the target `http2` that open sockets on two lanes, talk, and end them.
fn sockets() -> Vec<u8> {
    let mut writer = ScriptWriter::default();
    // It opens sockets, and has small windows.
    let settings = frame(4, 0, 0, &[0, 8, 0, 0, 0, 1, 0, 4, 0, 0, 0, 99]);
    writer.raw(&[0x80, 5]).bytes(&settings).raw(&[0x09, 0x19]);
    let opened = [frame(1, 4, 1, b"\x88"), frame(1, 4, 3, b"\x88")].concat();
    writer.raw(&[5]).bytes(&opened);
    writer.raw(&[0x0a, 200, 0, 0x1a, 50, 0, 4]);
    let said = [frame(0, 0, 1, b"\x81\x02hi"), frame(8, 0, 1, &[0, 0, 1, 0])].concat();
    writer.raw(&[5]).bytes(&said);
    writer.raw(&[0x0b, 0x1a, 9, 0]);
    let closed = frame(0, 1, 3, b"\x88\x02\x03\xe8");
    writer.raw(&[5]).bytes(&closed).raw(&[0x1c, 0x09, 4]);
    writer.finish()
}

#[test]
fn http2_connections() {
    const END: u8 = 5; // END_STREAM, END_HEADERS
    let answers = [
        frame(1, 4, 1, b"\x88\x5c\x015"),
        frame(0, 9, 1, b"\x02hello\0\0"),
        frame(1, 4, 3, b"\x08\x03103"),
        frame(1, 0, 3, b"\x48\x03404"),
        frame(9, 4, 3, b"\x5c\x010"),
        frame(0, 1, 3, b""),
        frame(1, END, 5, b"\xbf\xbe"),
        frame(
            1,
            END,
            7,
            b"\x3f\xe1\x1f\x40\x8a\x41\x48\xb4\xa5\x49\x27\x5a\x93\xc8\x5f\x83\xb9\x83\x8c\x88",
        ),
    ];
    let windows = [
        frame(4, 0, 0, &[0, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0x80, 0]),
        frame(8, 0, 0, &[0, 0, 0xff, 0xff]),
        frame(8, 0, 7, &[0, 1, 0, 0]),
        frame(6, 0, 0, &[1; 8]),
        frame(4, 1, 0, &[]),
        frame(42, 0xff, 9, b"unknown"),
    ];
    let ends = [
        frame(3, 0, 1, &[0, 0, 0, 7]),
        frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]),
        frame(1, END, 3, b"\x88"),
        frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]),
    ];
    let broken = [
        frame(1, 4, 1, b"\x88\x5c\x019"),
        frame(0, 1, 1, b"short"),
        frame(5, 4, 1, &[0, 0, 0, 2, 0x82]),
    ];
    let seeds = vec![
        ("answers", streams(0, &answers)),
        ("windows", streams(1, &windows)),
        ("ends", streams(2, &ends)),
        ("broken", streams(3, &broken)),
        (
            "all",
            streams(4, &[&answers[..2], &windows, &ends].concat()),
        ),
        ("sockets", sockets()),
    ];
    kept("http2", named(seeds));
}

#[test]
fn tls_records() {
    let made = |suite: u8, steps: &dyn Fn(&mut ScriptWriter)| {
        let mut writer = ScriptWriter::default();
        writer.raw(&[suite, suite + 1]);
        steps(&mut writer);
        writer.finish()
    };
    let data = |writer: &mut ScriptWriter| {
        writer
            .raw(&[6])
            .bytes(b"hello")
            .raw(&[6])
            .bytes(b"")
            .raw(&[6])
            .bytes(&[7; 300]);
    };
    let updates = |writer: &mut ScriptWriter| {
        data(writer);
        writer.raw(&[1, 0, 1, 1]);
        data(writer);
        writer.raw(&[4]).bytes(&[1, 0]);
    };
    let ticket = |writer: &mut ScriptWriter| {
        let message = [
            &[4, 0, 0, 17][..],
            &[0, 0, 1, 0, 0, 0, 0, 5, 1, 1, 0, 2, 7, 7, 0, 0, 0],
        ];
        let message = message.concat();
        writer
            .raw(&[5])
            .bytes(&message[..9])
            .raw(&[5])
            .bytes(&message[9..]);
        data(writer);
    };
    let broken = |writer: &mut ScriptWriter| {
        data(writer);
        writer.raw(&[2, 9, 0]).bytes(b"broken");
    };
    let foreign = |writer: &mut ScriptWriter| {
        data(writer);
        writer.raw(&[0]).bytes(&[
            23, 3, 3, 0, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7,
        ]);
    };
    let renegotiation = |writer: &mut ScriptWriter| {
        for _ in 0..3 {
            writer.raw(&[5]).bytes(&[0; 4]);
        }
        data(writer);
    };
    let seeds = vec![
        ("data", made(0, &data)),
        ("updates", made(1, &updates)),
        ("ticket", made(2, &ticket)),
        ("broken", made(3, &broken)),
        ("foreign", made(5, &foreign)),
        ("renegotiation", made(4, &renegotiation)),
        ("data-8", made(8, &data)),
    ];
    kept("records", named(seeds));
}

/// What a server says of itself, and a message with placeholders in texts, numbers, lists and maps.
#[test]
fn grpc_call() {
    let proto = "syntax = \"proto3\"; package a; service B { rpc C(All) returns (All); }
        message All {
            int32 a = 1; sint64 b = 2; double c = 3; repeated int64 d = 4; map<string, int32> e = 5;
            repeated All f = 6; string g = 7; fixed32 h = 8; Color i = 9; bytes j = 10;
        }
        enum Color { NONE = 0; RED = 1; }";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.proto"), proto).unwrap();
    let set = protox::compile(["a.proto"], [folder.path()]).unwrap();
    let delimited = |tag: u8, content: &[u8]| {
        let mut field = vec![tag];
        prost::encode_length_delimiter(content.len(), &mut field).unwrap();
        field.extend_from_slice(content);
        field
    };
    let services = delimited(
        6 << 3 | 2,
        &delimited(1 << 3 | 2, &delimited(1 << 3 | 2, b"a.B")),
    );
    let file = delimited(1 << 3 | 2, &set.file[0].encode_to_vec());
    let files = delimited(4 << 3 | 2, &file);
    let made = |json: &str| {
        let mut seed = vec![2];
        for answer in [&services, &files] {
            seed.extend((answer.len() as u16).to_le_bytes());
            seed.extend_from_slice(answer);
        }
        seed.extend_from_slice(json.as_bytes());
        seed
    };
    let seeds = [
        (
            "numbers",
            "{\"a\": \"#\", \"b\": \"#\", \"c\": \"#\", \"h\": \"#\"}",
        ),
        (
            "lists",
            "{\"d\": [5, \"#\", \"#\"], \"f\": [{\"a\": \"#\"}, {\"g\": \"x#\"}]}",
        ),
        (
            "maps",
            "{\"e\": {\"k#\": \"#\"}, \"i\": \"RED\", \"j\": \"YWI=\"}",
        ),
        ("plain", "{\"a\": 1592590336, \"g\": \"z\"}"),
    ];
    let seeds = seeds.map(|(name, json)| (name, made(json)));
    for seed in kept("grpc_call", named(seeds.to_vec())) {
        fuzz::grpc_call(&seed);
    }
}

/// Messages that answer gRPC calls: fields of every type, packed ones, a map, a group, messages
/// within each other, and one that is cut.
#[test]
fn grpc_message() {
    let seeds = [
        (
            "varints",
            b"\x08\xac\x02\x10\x01\x18\x05\x58\x01\x80\x01\x01".to_vec(),
        ),
        (
            "fixed",
            b"\x3d\x01\0\0\0\x41\x02\0\0\0\0\0\0\0\x65\0\0\xc0\x7f".to_vec(),
        ),
        (
            "texts",
            b"\x72\x02ab\x7a\x02\xff\0\x8a\x01\x02\x01\x05".to_vec(),
        ),
        ("packed", b"\xa2\x01\x03\x01\xac\x02\xa0\x01\x07".to_vec()),
        ("map", b"\x92\x01\x05\x0a\x01k\x10\x07\x92\x01\0".to_vec()),
        (
            "group",
            b"\xa3\x06\x08\x01\xab\x06\xac\x06\xa4\x06\x08\x02".to_vec(),
        ),
        (
            "inner",
            b"\xc2\x02\x02\x08\x01\xca\x02\x05\xc2\x02\x02\x08\x03".to_vec(),
        ),
        ("cut", b"\x72\x05ab".to_vec()),
    ];
    for seed in kept("grpc_message", named(seeds.to_vec())) {
        fuzz::grpc_message(&seed);
    }
}

/// Frames of a server: messages whole and in fragments, with pings between them, lengths in their
/// three forms, and a close frame.
#[test]
fn websocket() {
    let frame = |first: u8, payload: &[u8]| {
        let mut frame = vec![first];
        match payload.len() {
            length @ 0..=125 => frame.push(length as u8),
            length @ 126..=0xffff => {
                frame.push(126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(payload);
        frame
    };
    let seed = |frames: &[Vec<u8>]| [vec![7], frames.concat()].concat();
    let fragments = [
        frame(0x01, b"a\xc3"),
        frame(0x89, b"ping"),
        frame(0x00, b""),
        frame(0x80, b"\xbcb"),
        frame(0x8a, b""),
    ];
    let seeds = [
        ("text", seed(&[frame(0x81, "gr\u{fc}n".as_bytes())])),
        (
            "lengths",
            seed(&[frame(0x82, &[1; 126]), frame(0x82, &[2; 0x1_0000])]),
        ),
        ("fragments", seed(&fragments)),
        (
            "close",
            seed(&[frame(0x88, b"\x03\xe8bye"), frame(0x81, b"late")]),
        ),
        ("no-code", seed(&[frame(0x81, b""), frame(0x88, b"")])),
        ("reserved", seed(&[frame(0xc1, b"a")])),
        ("masked", seed(&[vec![0x81, 0x81, 0, 0, 0, 0, b'a']])),
        ("long-form", seed(&[vec![0x82, 126, 0, 1, b'a']])),
        ("cut", seed(&[vec![0x81, 9, b'a']])),
    ];
    for seed in kept("websocket", named(seeds.to_vec())) {
        fuzz::websocket(&seed);
    }
}

/// Bodies in each content coding: two members of gzip, and what the programs of brotli and zstd
/// made for the checks.
#[test]
fn content() {
    let mut gzip = Vec::new();
    for text in [&b"two members"[..], &b", one body".repeat(400)] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(text).unwrap();
        gzip.extend(encoder.finish().unwrap());
    }
    let coded = root().join("crates/engine/src/checks/answer_watch/coded");
    let read = |name: &str| fs::read(coded.join(name)).unwrap();
    let seeds = [
        ("gzip", 0, gzip.clone()),
        ("gzip-events", 1, gzip),
        ("br", 2, read("body.br")),
        ("br-events", 3, read("body.br")),
        ("br-bomb", 2, read("bomb.br")),
        ("zstd", 4, read("body.zst")),
        ("zstd-bomb", 4, read("bomb.zst")),
    ];
    let made = seeds
        .iter()
        .map(|(name, kind, body)| (*name, [&[*kind, 9][..], body].concat()));
    for (nth, seed) in kept("content", named(made.collect())).iter().enumerate() {
        fuzz::content(seed);
        let (name, kind, _) = &seeds[nth];
        let coding = ["gzip", "gzip", "br", "br", "zstd"][usize::from(*kind)].as_bytes();
        let mut door = engine::fuzzing::DecoderDoor::new(coding, false).unwrap();
        let ended = door.feed(&seed[2..]).and_then(|()| door.finish());
        let is_bomb = name.ends_with("bomb");
        assert_eq!(
            (ended.is_ok(), door.is_full()),
            (!is_bomb, is_bomb),
            "{name}"
        );
        assert!(door.decoded().0 > 50, "{name}: {:?}", door.decoded());
    }
}
