//! Journeys and captured texts: what is read, what is written, and what is refused.

use plan::{
    Capture, CapturePick, CapturePlace, End, JourneyConnection, JourneyCookies, JourneyPart,
    MissingCapture, NoFiles, Pause, Plan, StepTurns, WorkUnit,
};
use std::time::Duration;

const SHOP: &str = r#"
    target.url = "http://127.0.0.1/"
    [let]
    sign = { hmac = "sha256", key = "k", of = "{token}:{item}" }
    [[request]]
    name = "login"
    method = "POST"
    path = "/login"
    form = { user = "u{user}" }
    capture.token = { json = "/data/token" }
    capture.csrf = { matches = 'csrf="(\w+)"', missing = "skip" }
    [[request]]
    name = "search"
    path = "/search?q={token}"
    headers = { authorization = "Bearer {token}" }
    capture = { item = { json = "/items/*/id", pick = "random" }, session = { cookie = "id" } }
    [[request]]
    name = "order"
    method = "POST"
    path = "/order/{item}"
    headers = { x-sign = "{sign}", cookie = "id={session}" }
    json = { item = "{item}", token = "{csrf}" }
    [[journey]]
    name = "buyer"
    weight = 3
    steps = [
        "login",
        { repeat = 3, steps = [{ pause = { mean = "2s", most = "10s" } }, "search"] },
        { pick = [{ weight = 7, steps = [{ if = "item", steps = ["order"] }] }, { steps = [] }] },
    ]
    [[journey]]
    name = "visitor"
    connection = "new"
    steps = ["login", { pause = "1s" }, "login"]
    [load]
    connections = 2
    journeys = 100
"#;

fn read(text: &str) -> Result<Plan, Vec<String>> {
    Plan::parse(text, &mut NoFiles)
        .map_err(|problems| problems.0.iter().map(ToString::to_string).collect())
}

#[test]
fn journeys_are_read_as_written() {
    let plan = read(SHOP).expect("a plan");
    assert_eq!(
        (plan.unit(), plan.load().end),
        (WorkUnit::Journey, End::Requests(100))
    );
    let [buyer, visitor] = plan.journeys() else {
        panic!("two journeys");
    };
    assert_eq!(
        (buyer.steps(), visitor.steps()),
        (&[0, 1, 2][..], &[0, 0][..])
    );
    assert_eq!(visitor.connection, JourneyConnection::New);
    let names: Vec<&str> = (0..2).map(|step| visitor.step_name(step)).collect();
    assert_eq!(names, ["login", "login (2)"]);
    let pause = Pause::Exponential {
        mean: Duration::from_secs(2),
        most: Duration::from_secs(10),
    };
    let JourneyPart::Repeat { times: 3, parts } = &buyer.course[1] else {
        panic!("{:?} is not repeated three times", buyer.course[1]);
    };
    assert_eq!(parts[0], JourneyPart::Pause(pause));
    // login, three searches, and an order in seven of eight journeys; login twice.
    assert_eq!(buyer.mean_steps(), 4.875);
    assert_eq!(buyer.mean_uses(1), 3.0);
    assert_eq!(plan.operations_per_unit(), (3.0 * 4.875 + 2.0) / 4.0);
    assert_eq!(plan.most_requests_per_unit(), 5.0);
}

#[test]
fn captures_are_read_in_the_order_of_their_names() {
    let plan = read(SHOP).expect("a plan");
    assert_eq!(plan.capture_names(), ["csrf", "item", "session", "token"]);
    let token = Capture {
        numbers: Vec::new(),
        name: "token".into(),
        index: 3,
        from: CapturePlace::Json("/data/token".to_owned()),
        pick: CapturePick::First,
        missing: MissingCapture::Fail,
    };
    assert_eq!(plan.requests()[0].captures[1], token);
    let failures: Vec<String> = plan.checks().map(|(_, failure)| failure).collect();
    assert_eq!(
        failures,
        [
            "body has no match for csrf",
            "JSON /data/token has no token",
            "JSON /items/*/id has no item",
            "cookie id is not set, for session",
        ]
    );
}

#[test]
fn attributes_of_elements_are_read_as_written() {
    let html = "{ html = 'Input[name=\"csrf\"]', attribute = \"VALUE\", pick = \"last\" }";
    let text = SHOP.replacen("{ json = \"/data/token\" }", html, 1);
    let plan = read(&text).expect("a plan");
    let capture = &plan.requests()[0].captures[1];
    assert!(capture.is_of_body() && !capture.is_of_whole_body());
    assert_eq!(
        capture.failure(),
        "HTML Input[name=\"csrf\"] has no value, for token"
    );
    let text = plan.canonical_text();
    let again = Plan::parse_canonical(&text, &|_| None).expect("canonical text is a plan");
    assert_eq!((again.canonical_text(), &again), (text, &plan));
}

#[test]
fn canonical_text_gives_the_same_plan() {
    let plan = read(SHOP).expect("a plan");
    let text = plan.canonical_text();
    assert!(text.contains("journeys = 100"), "{text}");
    let again = Plan::parse_canonical(&text, &|_| None).expect("canonical text is a plan");
    assert_eq!(again, plan);
    assert_eq!(again.canonical_text(), text);
    // Names of captures and cookies are no secrets.
    assert!(
        plan.masked_text().contains("session = { cookie = \"id\""),
        "{}",
        plan.masked_text()
    );
}

const ONCE: &str = "{ request = \"login\", once = \"user\" },\n";

#[test]
fn steps_made_once_are_read_and_keep_cookies_for_their_user() {
    let text = SHOP.replacen("\"login\",\n", ONCE, 1);
    let plan = read(&text).expect("a plan");
    let [buyer, visitor] = plan.journeys() else {
        panic!("two journeys");
    };
    let login = JourneyPart::Step {
        number: 0,
        request: 0,
        turns: StepTurns::OncePerUser,
    };
    assert_eq!(
        (&buyer.course[0], &buyer.steps()[..2]),
        (&login, &[0, 1][..])
    );
    assert!(buyer.remembers() && !visitor.remembers());
    let cookies = [buyer.cookies, visitor.cookies];
    assert_eq!(cookies, [JourneyCookies::OfUser, JourneyCookies::OfJourney]);
    // A user's first journey is as long as any without `once`.
    assert_eq!(
        (buyer.mean_steps(), plan.most_requests_per_unit()),
        (4.875, 5.0)
    );
    let canonical = plan.canonical_text();
    assert!(canonical.contains("cookies = \"user\""), "{canonical}");
    let again = Plan::parse_canonical(&canonical, &|_| None).expect("canonical text is a plan");
    assert_eq!((again.canonical_text(), again), (canonical, plan));
    for (written, cookies) in [
        ("true", JourneyCookies::OfJourney),
        ("false", JourneyCookies::Ignored),
        ("\"user\"", JourneyCookies::OfUser),
    ] {
        let text = text.replacen("weight = 3", &format!("weight = 3\ncookies = {written}"), 1);
        let plan = read(&text).expect(written);
        assert_eq!(plan.journeys()[0].cookies, cookies);
        let mut notes = plan.notes().iter();
        let is_noted = notes.any(|note| note.starts_with("journey.cookies = true forgets"));
        assert_eq!(is_noted, cookies == JourneyCookies::OfJourney, "{written}");
    }
}

#[test]
fn plan_without_steps_made_once_has_the_text_that_it_had() {
    let text = read(SHOP).expect("a plan").canonical_text();
    assert!(
        text.contains("cookies = true\nsteps = [\"login\", { repeat"),
        "{text}"
    );
    let table = SHOP.replacen("\"login\",\n", "{ request = \"login\" },\n", 1);
    assert_eq!(read(&table).expect("a plan").canonical_text(), text);
}

#[test]
fn groups_are_read_with_their_names_and_thresholds() {
    let group = "{ group = \"log in\", steps = [\"login\", { group = \"x.y\", steps = [{ \
                 repeat = 2, steps = [\"login\"] }] }] }";
    let text = SHOP.replacen("\"login\", { pause = \"1s\" }, \"login\"", group, 1);
    let thresholds = "[thresholds]\n\"journey.visitor.group.log in.time.p99\" = \"<= 1s\"\n\
                      \"journey.visitor.group.x.y.completed.count\" = \">= 3\"\n";
    let plan = read(&format!("{text}{thresholds}")).expect("a plan");
    let visitor = &plan.journeys()[1];
    assert_eq!(
        (visitor.groups(), visitor.steps()),
        (&["log in".to_owned(), "x.y".to_owned()][..], &[0, 0][..])
    );
    assert_eq!(visitor.mean_steps(), 3.0);
    let canonical = plan.canonical_text();
    assert!(canonical.contains(group), "{canonical}");
    let again = Plan::parse_canonical(&canonical, &|_| None).expect("canonical text is a plan");
    assert_eq!((again.canonical_text(), &again), (canonical, &plan));
    for (name, message) in [
        (
            "buyer.group.x.y.time.p99",
            "has none; write { group = \"x.y\", steps = […] } in its steps",
        ),
        (
            "visitor.group.z.begun.count",
            "has \"log in\", \"x.y\"; write one of these",
        ),
        (
            "visitor.group.x.y",
            "write \"journey.visitor.group.x.y.time.p99\", or another",
        ),
    ] {
        let text = format!("{text}[thresholds]\n\"journey.{name}\" = \"<= 1\"\n");
        let found = read(&text).expect_err(name).join("\n");
        assert!(found.contains(message), "{name}:\n{found}");
    }
}

/// The plan with `old` replaced by `new`, and the messages that this brings.
fn problems(old: &str, new: &str) -> String {
    assert!(SHOP.contains(old), "{old}");
    read(&SHOP.replacen(old, new, 1)).expect_err(new).join("\n")
}

#[test]
fn mistakes_are_told_with_their_cure() {
    for (old, new, message) in [
        ("journeys = 100", "requests = 100", "write journeys"),
        (
            "\"login\",\n",
            "\"logon\",\n",
            "is the name of no request; there are login, search, order",
        ),
        ("repeat = 3, ", "repeat = 0, ", "out of range"),
        (
            "\"login\",\n",
            "{ pause = \"1s\" }, \"login\",\n",
            "does not begin with a request",
        ),
        (
            "{ if = \"item\"",
            "{ if = \"itm\"",
            "is captured by no request",
        ),
        (
            "\"/search?q={token}\"",
            "\"/search?q={tokn}\"",
            "{tokn} is none of",
        ),
        (
            "name = \"visitor\"",
            "name = \"buyer\"",
            "has the name \"buyer\" of journey[0]",
        ),
        (
            "{ json = \"/data/token\" }",
            "{ json = \"data\" }",
            "is not a JSON pointer",
        ),
        (
            "{ json = \"/data/token\" }",
            "\"/data/token\"",
            "a table that says where the text is",
        ),
        ("'csrf=\"(\\w+)\"'", "'csrf=('", "is no regular expression"),
        (
            "{ json = \"/data/token\" }",
            "{ html = \"form input\", attribute = \"value\" }",
            "\"form input\" names more than one element, or has a stray character; write one such",
        ),
        (
            "{ json = \"/data/token\" }",
            "{ html = \"input[name=csrf]\" }",
            "does not say which attribute; write one such as attribute = \"value\"",
        ),
        (
            "{ json = \"/data/token\" }",
            "{ json = \"/data/token\", attribute = \"value\" }",
            "belongs to an element; write html",
        ),
        (
            "{ json = \"/data/token\" }",
            "{ html = \"input\", attribute = \"va lue\" }",
            "\"va lue\" is not the name of an attribute",
        ),
        (
            "path = \"/login\"",
            "weight = 2",
            "has a weight for \"login\"",
        ),
        ("pause = \"1s\"", "pause = 1", "has no unit"),
        (
            "mean = \"2s\", most",
            "min = \"2s\", most",
            "neither uniform nor exponential",
        ),
        (
            "connections = 2",
            "connections = 2\nwarm_up = \"{token}\"",
            "captured text {token}",
        ),
        (
            "[let]\n    sign",
            "[let]\n    item = \"uuid\"\n    sign",
            "give one of them another name",
        ),
        (
            "steps = [] }",
            "stps = [] }",
            "write steps = [] to do nothing",
        ),
        (
            "\"login\",\n",
            "{ request = \"login\", once = \"agent\" },\n",
            "\"agent\" is not known here; write \"user\", or leave it out",
        ),
        (
            "\"login\",\n",
            "{ request = \"login\", once = true },\n",
            "found the boolean true where a string belongs; write \"user\"",
        ),
        (
            "\"login\",\n",
            "{ once = \"login\" },\n",
            "does not say what is made once; write { request = \"login\", once = \"user\" }",
        ),
        (
            "\"login\", { pause = \"1s\" }, \"login\"",
            "{ request = \"login\", once = \"user\" }, { if = \"token\", steps = [\"login\"] }",
            "can have no request left once the user has made those with once",
        ),
        (
            "name = \"visitor\"",
            "name = \"visitor\"\ncookies = \"journey\"",
            "\"journey\" is not known here; write true, false or \"user\"",
        ),
        (
            "\"login\", { pause = \"1s\" }",
            "{ group = \"a\", steps = [\"login\"] }, { group = \"a\", steps = [\"login\"] }",
            "\"a\" is the name of another group of this journey",
        ),
        (
            "\"login\", { pause = \"1s\" }",
            "{ group = \"a\", steps = [] }",
            "has nothing to do",
        ),
        (
            "\"login\", { pause = \"1s\" }",
            "{ group = \"a\" }",
            "has no steps",
        ),
        (
            "\"login\", { pause = \"1s\" }",
            "{ group = \"a\", repeat = 2, steps = [\"login\"] }",
            "has repeat and group; put one within the steps of the other",
        ),
        (
            "\"login\", { pause = \"1s\" }",
            "\"login\", \"1s\"",
            "\"1s\" is no request but a duration; write { pause = \"1s\" }",
        ),
        (
            "{ steps = [] }",
            "\"order\"",
            "found the string \"order\" where one of several ways belongs; write { weight = 3,",
        ),
        (
            "{ json = \"/data/token\" }",
            "{ jsonpath = \"$.token\" }",
            "unknown key; write json = \"/items/0/id\", a JSON pointer (RFC 6901)",
        ),
        (
            "name = \"visitor\"",
            "name = \"visitor\"\ncookies = 1",
            "found the integer 1 where true, false or a word belongs",
        ),
        (
            "\"login\", { pause = \"1s\" }, \"login\"",
            "\"search\"",
            "sends \"search\", which has {token}, before",
        ),
    ] {
        let found = problems(old, new);
        assert!(found.contains(message), "{new}:\n{found}");
    }
}

#[test]
fn pauses_that_need_more_connections_are_noted() {
    let load = "rate = \"100/s\"\nmax_connections = 400";
    let plan = read(&SHOP.replace("connections = 2", load)).expect("a plan");
    // Three of four journeys pause three times 2 s, one pauses 1 s.
    let mut notes = plan.notes().iter();
    let note = notes.find(|note| note.starts_with("load.max_connections"));
    let note = note.expect("it is noted");
    assert!(
        note.contains("each pauses for 4.8 s on average, which keeps 475 of them"),
        "{note}"
    );
}

#[test]
fn ports_are_counted_by_the_connections_that_journeys_open() {
    let is_noted = |rate: &str, requests: &str, kind: &str| {
        let text = format!(
            "target.url = \"http://10.0.0.1/\"
             connection.requests = {requests}
             request = [{{ name = \"a\" }}]
             journey = [{{ connection = \"{kind}\", steps = [\"a\", \"a\", \"a\"] }}]
             load = {{ rate = \"{rate}\", duration = \"9s\" }}"
        );
        let plan = read(&text).expect("a plan");
        let mut notes = plan.notes().iter();
        notes.any(|note| note.contains("TIME_WAIT"))
    };
    // A source and a target address have ports for some 470 connections/s.
    for (rate, requests, kind, noted) in [
        ("200/s", "1", "kept", true),
        ("100/s", "1", "kept", false),
        ("400/s", "\"unlimited\"", "new", false),
        ("500/s", "\"unlimited\"", "new", true),
        ("5000/s", "\"unlimited\"", "kept", false),
    ] {
        assert_eq!(
            is_noted(rate, requests, kind),
            noted,
            "{rate} {requests} {kind}"
        );
    }
}

#[test]
fn captures_without_a_journey_are_refused() {
    let text = SHOP.split("[[journey]]").next().expect("there is one");
    let text = format!("{text}\n[load]\nconnections = 1\nrequests = 1");
    let found = read(&text).expect_err("captures are of no use").join("\n");
    assert!(found.contains("write a [[journey]]"), "{found}");
}

/// A plan of two journeys that share connections, if `buyer` and `visitor` say so.
fn sharing((buyer, visitor): (&str, &str), connection: &str, load: &str) -> String {
    format!(
        "target.url = \"http://10.0.0.1/\"
         {connection}
         request = [{{ name = \"a\" }}]
         journey = [
             {{ name = \"buyer\", {buyer} steps = [\"a\", {{ pause = \"2s\" }}, \"a\"] }},
             {{ name = \"visitor\", {visitor} steps = [\"a\"] }},
         ]
         {load}"
    )
}

const SHARED: &str = "connection = \"shared\",";

#[test]
fn journeys_share_connections_among_users() {
    let users = |load: &str| {
        let text = sharing((SHARED, SHARED), "", load);
        let plan = read(&text).expect("a plan");
        let again = Plan::parse(&plan.canonical_text(), &mut NoFiles).expect("a canonical text");
        assert_eq!(again.load(), plan.load());
        assert_eq!(plan.journeys()[1].connection, JourneyConnection::Shared);
        let plan::Shape::Open {
            users,
            max_connections,
            ..
        } = plan.load().shape
        else {
            panic!("{load} is a closed loop");
        };
        let notes: Vec<String> = plan.notes().to_vec();
        let all = plan::Seats::sharing(plan.load(), plan::Owner::ALONE).map(|all| all.number());
        assert_eq!(all, users);
        (users, max_connections, notes)
    };
    let open = "load = { rate = \"9/s\", duration = \"9s\"";
    assert_eq!(
        users(&format!("{open} }}")),
        (Some(10_000), 10_000, Vec::new())
    );
    let few = users(&format!("{open}, users = 8, max_connections = 2 }}"));
    // Half of the journeys pause for 2 s, so 9/s keep 9 of them under way.
    assert_eq!((few.0, few.1), (Some(8), 2));
    assert!(
        few.2[0].starts_with("load.users = 8 makes journeys wait"),
        "{:?}",
        few.2
    );
}

/// The load that the plan's canonical text has.
fn canonical_load(plan: &Plan) -> plan::Load {
    let again = Plan::parse(&plan.canonical_text(), &mut NoFiles).expect("a canonical text");
    again.load().clone()
}

#[test]
fn virtual_users_share_connections() {
    let load = "load = { users = 500, think_time = \"1s\", duration = \"9s\"REST }";
    let streams = "connection = { http = \"2\", streams = 8 }";
    let plan = |rest: &str| {
        let load = load.replace("REST", rest);
        read(&sharing((SHARED, SHARED), streams, &load)).expect("a plan")
    };
    let most = |plan: &Plan| {
        let share = plan.share(0, 1);
        assert_eq!(share.peak_connections, Some(500));
        assert_eq!(canonical_load(plan), *plan.load());
        (share.max_connections, share.most_connections())
    };
    assert_eq!(most(&plan("")), (Some(10_000), Some(500)));
    let few = plan(", max_connections = 4, stage = [{ over = \"9s\", to = 20 }]");
    assert_eq!(most(&few), (Some(4), Some(4)));
    assert_eq!(few.demand(&plan::Owner::ALONE.into()).connections, 4);
    assert_eq!(few.check_fleet(4), Ok(()));
    let refused = few.check_fleet(5).expect_err("one has no connection");
    assert_eq!(refused.path, "load.max_connections");
    let doubled = few.for_agents(2).expect("a plan");
    let share = doubled.share(0, 1);
    let (users, connections) = (share.peak_connections, share.max_connections);
    assert_eq!((users, connections), (Some(1000), Some(8)));
}

#[test]
fn virtual_users_with_journeys_of_their_own_share_connections() {
    let loads = ["load.users = 30", "load.users = 10"];
    let text = |loads: [&str; 2]| {
        let [buyer, visitor] = loads.map(|load| format!("{SHARED} {load},"));
        sharing(
            (&buyer, &visitor),
            "",
            "load = { duration = \"9s\", max_connections = 6 }",
        )
    };
    let plan = read(&text(loads)).expect("a plan");
    let share = plan.share(1, 2);
    let (users, connections) = (share.peak_connections, share.max_connections);
    assert_eq!((users, connections), (Some(20), Some(3)));
    assert_eq!(canonical_load(&plan), *plan.load());
    let found = read(&text(["load.connections = 30", loads[1]])).expect_err("the other key");
    let message = "load.connections: are virtual users with a connection each";
    assert!(found.join("\n").contains(message), "{found:?}");
    let beside = text(loads).replace("max_connections = 6", "users = 40");
    let found = read(&beside).expect_err("each journey has its users");
    let message = "load.users: is given beside the loads that journeys have";
    assert!(found.join("\n").contains(message), "{found:?}");
    let nothing = sharing((SHARED, SHARED), "", "load = { duration = \"9s\" }");
    let found = read(&nothing).expect_err("nobody makes journeys");
    assert!(found[0].contains("write users = 50"), "{found:?}");
}

#[test]
fn each_agent_has_its_part_of_the_users_who_share() {
    let load = "load = { rate = \"9/s\", duration = \"9s\", users = 7, max_connections = 30 }";
    let plan = read(&sharing((SHARED, SHARED), "", load)).expect("a plan");
    let seats = |agent| {
        let owner = plan::Owner {
            agent,
            agents: 3,
            ..plan::Owner::ALONE
        };
        let users = plan::Seats::sharing(plan.load(), owner).expect("they share");
        let all: Vec<u32> = users.iter().collect();
        (all, plan::Seats::new(plan.load(), owner).number())
    };
    let parts: Vec<(Vec<u32>, u32)> = (0..3).map(seats).collect();
    let mut all: Vec<u32> = parts.iter().flat_map(|(users, _)| users.clone()).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
    assert!(parts.iter().all(|(_, connections)| *connections == 10));
    assert_eq!(plan.check_fleet(7), Ok(()));
    let refused = plan
        .check_fleet(8)
        .expect_err("one has no user")
        .to_string();
    assert!(
        refused.contains("load.users: 7 cannot be shared by 8"),
        "{refused}"
    );
}

#[test]
fn users_go_to_workers_that_have_connections() {
    let sizes = [(2, 3), (3, 2), (5, 4), (50, 2), (2, 50), (7, 7), (1, 1)];
    let loops = ["rate = \"9/s\", ", ""];
    for ((users, connections), rate) in sizes
        .into_iter()
        .flat_map(|sizes| loops.map(|rate| (sizes, rate)))
    {
        let load = format!(
            "load = {{ {rate}duration = \"9s\", users = {users}, max_connections = {connections} \
             }}"
        );
        let plan = read(&sharing((SHARED, SHARED), "", &load)).expect("a plan");
        for (agents, workers) in [(1, 8), (1, 3), (1, 1)] {
            let mut all = Vec::new();
            for worker in 0..workers {
                let owner = plan::Owner {
                    agents,
                    worker,
                    workers,
                    ..plan::Owner::ALONE
                };
                let seats = plan::Seats::new(plan.load(), owner);
                let own = plan::Seats::sharing(plan.load(), owner).expect("they share");
                let is_served = seats.place().is_some();
                let can_serve = seats.number() > 0 && own.number() > 0;
                assert_eq!(
                    is_served, can_serve,
                    "{users} {connections} {workers} {worker}"
                );
                assert_eq!(own.place(), seats.place());
                all.extend(own.iter());
            }
            all.sort_unstable();
            assert_eq!(
                all,
                (0..users).collect::<Vec<u32>>(),
                "{connections} {workers}"
            );
        }
    }
}

#[test]
fn what_cannot_share_connections_is_refused_with_its_cure() {
    let open = "load = { rate = \"9/s\", duration = \"9s\" }";
    let users = "load = { rate = \"9/s\", duration = \"9s\", users = 9 }";
    let closed = "load = { connections = 9, duration = \"9s\" }";
    let both = "load = { rate = \"9/s\", connections = 9, duration = \"9s\" }";
    let sharing_users = "load = { users = 9, duration = \"9s\" }";
    let most = "load = { connections = 9, max_connections = 2, duration = \"9s\" }";
    let streams = "connection = { http = \"2\", streams = 8 }";
    for (kinds, connection, load, message) in [
        (
            (SHARED, ""),
            "",
            open,
            "not for \"visitor\"; write it for all",
        ),
        (
            ("", SHARED),
            "",
            open,
            "not for \"buyer\"; write it for all",
        ),
        (
            (SHARED, SHARED),
            "",
            closed,
            "load.connections: are virtual users with a connection each",
        ),
        (
            (SHARED, SHARED),
            "",
            both,
            "keep rate for an open loop (and bound its connections by max_connections), or users",
        ),
        (
            ("", ""),
            "",
            sharing_users,
            "load.users: belong to journeys that share connections, and this plan has none; write \
             connections, or write",
        ),
        (
            ("", ""),
            "",
            most,
            "load.max_connections: belongs to an open loop, or to journeys that share",
        ),
        (
            ("", ""),
            "",
            users,
            "remove it, or write journey.connection = \"shared\"",
        ),
        (
            ("", ""),
            streams,
            open,
            "write streams = 1, or journey.connection = \"shared\"",
        ),
    ] {
        let found = read(&sharing(kinds, connection, load)).expect_err(message);
        assert!(found.join("\n").contains(message), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
    read(&sharing((SHARED, SHARED), streams, open)).expect("streams of shared connections");
    let replaced = sharing(
        ("", ""),
        "",
        "load = { connections = 9, duration = \"9s\", users = 9 }",
    );
    let found = read(&replaced).expect_err("virtual users are counted by connections");
    assert!(
        found[0].contains("share connections, and this plan has none; remove it, or"),
        "{found:?}"
    );
    let plain = format!("target.url = \"http://10.0.0.1/\"\n{users}");
    let found = read(&plain).expect_err("it has no journeys");
    assert!(
        found[0].contains("share connections, and this plan has none"),
        "{found:?}"
    );
}

#[test]
fn redirects_that_may_be_followed_count_as_requests() {
    let requests = "[[request]]\nname = \"a\"\nredirects = 3\n[[request]]\nname = \"b\"\n";
    let load = "load = { rate = \"1/s\", duration = \"1s\" }\n";
    let text = format!("target.url = \"http://a.test\"\n{load}{requests}");
    assert_eq!(read(&text).unwrap().most_requests_per_unit(), 4.0);
}
