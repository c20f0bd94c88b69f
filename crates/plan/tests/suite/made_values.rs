//! Made values: what they look like, what they may be made of, and what is refused.

use crate::support::{again, parse};
use plan::{Generator, Instance, MadeSource, Piece, Plan};
use proptest::prelude::*;

const BASE: &str = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 3 }\n";

fn plan(text: &str) -> Plan {
    parse(&format!("{BASE}{text}")).expect("a plan")
}

fn problem(text: &str) -> String {
    parse(&format!("{BASE}{text}")).expect_err("problems")
}

fn generator(definition: &str) -> Generator {
    let plan = plan(&format!(
        "let.x = {definition}\nrequest.path = \"/{{x}}\"\n"
    ));
    match &plan.made()[0].source {
        MadeSource::Generated(generator) => generator.clone(),
        MadeSource::Composed(composed) => panic!("{composed:?}"),
    }
}

/// The text for operation `seq`, whose length is checked on the way.
fn text(generator: &Generator, seq: u64) -> String {
    let of = Instance {
        seed: Generator::seed("x", 7),
        seq,
        unix_ns: 1_700_000_000_123_000_000,
    };
    let mut out = Vec::new();
    generator.put(of, &mut out);
    assert_eq!(out.len(), generator.length(of), "{generator:?}");
    String::from_utf8(out).expect("text")
}

fn texts(definition: &str, operations: u64) -> Vec<String> {
    let generator = generator(definition);
    (0..operations).map(|seq| text(&generator, seq)).collect()
}

#[test]
fn each_kind_makes_what_it_says() {
    for (definition, expected) in [
        ("\"counter\"", ["0", "1", "2"]),
        ("{ counter = 1000 }", ["1000", "1001", "1002"]),
        ("{ counter = 1, step = -1 }", ["1", "0", "-1"]),
        ("\"timestamp\"", ["1700000000"; 3]),
        ("{ timestamp = \"unix_ms\" }", ["1700000000123"; 3]),
        (
            "{ timestamp = \"http\" }",
            ["Tue, 14 Nov 2023 22:13:20 GMT"; 3],
        ),
        ("{ timestamp = \"%Y%m%d\" }", ["20231114"; 3]),
        ("{ random = [5, 5] }", ["5"; 3]),
        ("{ random = [0.50, 0.5], decimals = 2 }", ["0.50"; 3]),
        ("{ random = [-0.5, -0.5] }", ["-0.5"; 3]),
        ("{ one_of = [7] }", ["7"; 3]),
        // Agents of other builds must make the same ones.
        ("\"uuid\"", UUIDS),
        ("{ random = [100, 999] }", ["821", "229", "206"]),
        (
            "{ random = 8, alphabet = \"hex\" }",
            ["cac377e9", "800cf4fb", "f4019152"],
        ),
        ("{ one_of = [\"red\", \"green\"] }", ["green", "red", "red"]),
    ] {
        assert_eq!(texts(definition, 3), expected, "{definition}");
    }
}

const UUIDS: [&str; 3] = [
    "cd5d16b6-b9d0-4429-a4ba-8759180f2920",
    "1e400b85-2537-43a8-86ca-2783fa80fae8",
    "f7404ced-10e5-4ff7-9667-b9f55c4aa98b",
];

#[test]
fn counter_goes_beyond_64_bits_instead_of_round() {
    let generator = generator("{ counter = 9223372036854775807, step = 2 }");
    assert_eq!(text(&generator, u64::MAX), "46116860184273879037");
}

#[test]
fn uuids_are_of_version_4_and_all_different() {
    let mut uuids = texts("\"uuid\"", 20_000);
    for uuid in &uuids {
        let parts: Vec<&str> = uuid.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert!(parts[2].starts_with('4'), "{uuid}");
        assert!(parts[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!(uuid.chars().all(|c| c == '-' || is_hex(c)), "{uuid}");
    }
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), 20_000);
}

#[test]
fn what_is_drawn_is_drawn_evenly() {
    let count = |definition: &str, of: &str| {
        let drawn = texts(definition, 10_000);
        drawn.iter().filter(|text| text.contains(of)).count()
    };
    let red = count("{ one_of = [\"red\", \"green\"] }", "red");
    assert!((4800..5200).contains(&red), "{red}");
    let three = count("{ random = [1, 6] }", "3");
    assert!((1550..1790).contains(&three), "{three}");
    let letters = texts("{ random = 9, alphabet = \"abc\" }", 10_000).concat();
    for letter in ['a', 'b', 'c'] {
        let times = letters.matches(letter).count();
        assert!((29_500..30_500).contains(&times), "{letter}: {times}");
    }
}

proptest! {
    #[test]
    fn numbers_stay_within_their_range(
        low in -1_000_000_i64..1_000_000,
        width in 0_i64..1_000_000,
        decimals in 0_u32..5,
        seq in any::<u64>(),
    ) {
        let scale = 10_f64.powi(decimals as i32);
        let write = |number: i64| format!("{:.*}", decimals as usize, number as f64 / scale);
        let (low_text, high_text) = (write(low), write(low + width));
        let definition = format!("{{ random = [{low_text}, {high_text}], decimals = {decimals} }}");
        let drawn = text(&generator(&definition), seq);
        let digits = drawn.split_once('.').map_or(0, |(_, behind)| behind.len());
        prop_assert_eq!(digits, decimals as usize);
        let number = (drawn.parse::<f64>().unwrap() * scale).round() as i64;
        prop_assert!((low..=low + width).contains(&number), "{}", drawn);
        prop_assert!(serde_json::from_str::<f64>(&drawn).is_ok(), "{}", drawn);
    }

    #[test]
    fn characters_are_those_of_the_alphabet(length in 1_u16..300, seq in any::<u64>()) {
        for (alphabet, characters) in [
            ("hex", "0123456789abcdef"),
            ("äö€x", "äö€x"),
            ("base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        ] {
            let definition = format!("{{ random = {length}, alphabet = \"{alphabet}\" }}");
            let drawn = text(&generator(&definition), seq);
            prop_assert_eq!(drawn.chars().count(), usize::from(length));
            prop_assert!(drawn.chars().all(|c| characters.contains(c)), "{}", drawn);
        }
    }

    #[test]
    fn any_text_as_a_definition_is_a_value_or_a_problem(text in any::<String>()) {
        let quoted = toml_edit::Value::from(text);
        for definition in [
            format!("{quoted}"),
            format!("{{ timestamp = {quoted} }}"),
            format!("{{ random = 3, alphabet = {quoted} }}"),
            format!("{{ one_of = [{quoted}] }}"),
            format!("{{ hmac = \"sha1\", key = {quoted}, of = {quoted} }}"),
        ] {
            let text = format!("{BASE}let.x = {definition}\nrequest.body = \"{{x}}\"\n");
            if let Ok(plan) = parse(&text) {
                let read = again(&plan).expect("a plan again");
                prop_assert_eq!(read, plan);
            }
        }
    }
}

const ALL: &str = r#"
vars.key = { secret = "k" }
data.users = { file = "users.csv", secret = ["password"] }
[let]
sign = { hmac = "sha256", key = "{key}", of = "{users.login}:{now}", as = "base64" }
id = "uuid"
nr = { step = 2, counter = 1000 }
now = { timestamp = "iso8601" }
amount = { random = [100, 999.5] }
color = { one_of = ["red", "{ x }", 5] }
token = { random = 16, alphabet = "alnum" }
digest = { digest = "sha1", of = "{id}:{amount}" }
basic = { encode = "base64", of = "{users.login}:{users.password}" }
[request]
method = "POST"
path = "/{sign}?s={sign}"
headers = { authorization = "Basic {basic}", x-id = "{id}" }
body = '''{"id": "{id}", "nr": {nr}, "amount": {amount}, "sign": "{sign}", "raw": "{sign|raw}",
 "color": "{color}", "token": "{token}", "digest": "{digest}"}'''
"#;

#[test]
fn canonical_text_has_every_default_and_reads_the_same() {
    let plan = plan(ALL);
    let text = plan.canonical_text();
    let section = r#"
[let]
amount = { random = [100.0, 999.5], decimals = 1 }
basic = { encode = "base64", of = "{users.login}:{users.password}" }
color = { one_of = ["red", "{ x }", "5"] }
digest = { digest = "sha1", of = "{id}:{amount}", as = "hex" }
id = "uuid"
now = { timestamp = "%Y-%m-%dT%H:%M:%S.%3fZ" }
nr = { counter = 1000, step = 2 }
sign = { hmac = "sha256", key = "{key}", of = "{users.login}:{now}", as = "base64" }
token = { random = 16, alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" }
"#;
    assert!(text.contains(section), "{text}");
    let read = again(&plan).unwrap();
    assert_eq!((&read, read.digest()), (&plan, plan.digest()));
    assert_eq!(read.requests(), plan.requests(), "with the same escapes");
    assert!(plan.masked_text().contains("(not saved)"));
    let saved = Plan::parse_saved(&plan.masked_text()).unwrap();
    assert_eq!(saved.made().len(), 9);
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    assert_eq!(plan.secrets(), ["authorization", "{key}"]);
}

#[test]
fn plan_without_made_values_keeps_its_text() {
    let text = plan("").canonical_text();
    assert!(!text.contains("let"), "{text}");
}

#[test]
fn value_that_has_a_secret_is_one() {
    let plan = plan(ALL);
    let secret = plan.made().iter().filter(|made| made.is_secret());
    let secret: Vec<&str> = secret.map(|made| made.name.as_str()).collect();
    assert_eq!(secret, ["basic", "sign"]);
}

#[test]
fn rows_are_taken_by_what_is_made_of_them() {
    let plan = plan(
        "data.words = { file = \"words.txt\", order = \"unique\" }\n\
         let.code = { digest = \"sha256\", of = \"{words.line}\" }\n\
         let.again = { digest = \"sha256\", of = \"{code}\" }\n\
         request = { body = \"{again}\" }\n",
    );
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    let more = problem_of_requests("request = { body = \"{again}\" }\n");
    assert!(more.contains("enough for 3"), "{more}");
}

fn problem_of_requests(request: &str) -> String {
    let text = format!(
        "target.url = \"http://a.test/\"\nload = {{ connections = 1, requests = 4 }}\n\
         data.words = {{ file = \"words.txt\", order = \"unique\", at_end = \"fail\" }}\n\
         let.code = {{ digest = \"sha256\", of = \"{{words.line}}\" }}\n\
         let.again = {{ digest = \"sha256\", of = \"{{code}}\" }}\n{request}"
    );
    parse(&text).expect_err("four operations for three rows")
}

#[test]
fn handshakes_alone_keep_what_they_do_not_use() {
    let plan = plan(
        "vars.key = { secret = \"k\" }\nconnection.requests = 0\ntarget.builtin = true\n\
         let.sign = { hmac = \"sha256\", key = \"{key}\", of = \"{seq}\" }\n"
            .replace("target.builtin = true\n", "")
            .as_str(),
    );
    assert_eq!(again(&plan).unwrap(), plan);
    let unused = "let.sign: no request has {sign}".to_owned();
    assert!(plan.notes().contains(&unused), "{:?}", plan.notes());
}

#[test]
fn key_that_is_saved_is_noted() {
    let plan = plan(
        "let.sign = { hmac = \"sha256\", key = \"k\", of = \"{seq}\" }\n\
         request.path = \"/{sign}\"\n",
    );
    assert!(plan.notes()[0].starts_with("let.sign.key is saved with the plan"));
    let names: Vec<&str> = plan.made().iter().map(|made| made.name.as_str()).collect();
    assert_eq!(names, ["sign"]);
    let pieces = &plan.requests()[0].path.as_ref().unwrap().pieces;
    assert!(matches!(pieces[1], Piece::Made(_)), "{pieces:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_cure() {
    for (text, expected) in [
        (
            "let.id = \"uid\"",
            "let.id: \"uid\" is not known here; write \"uuid\", \"counter\"",
        ),
        (
            "let.id = 5",
            "found the integer 5 where a string belongs; write \"uuid\"",
        ),
        ("let.id = {}", "does not say what it is; write \"uuid\""),
        ("let.id = { one_off = [1] }", "does not say what it is"),
        (
            "let.id = { random = [1, 2], one_of = [1] }",
            "has random and one_of; write each as a value of its own",
        ),
        (
            "let.id = { random = [2, 1] }",
            "begins with the higher number",
        ),
        (
            "let.id = { random = [1] }",
            "has 1 elements; write the lowest and the highest",
        ),
        (
            "let.id = { random = [1, 1e30] }",
            "cannot be counted in steps of",
        ),
        (
            "let.id = { random = [0.25, 1], decimals = 1 }",
            "cannot be counted in steps of 1",
        ),
        (
            "let.id = { random = 5 }",
            "has no alphabet; write alphabet = \"hex\"",
        ),
        (
            "let.id = { random = 0, alphabet = \"hex\" }",
            "0 is out of range",
        ),
        (
            "let.id = { random = 5, alphabet = \"aba\" }",
            "has 'a' twice",
        ),
        (
            "let.id = { random = 5, alphabet = \"a\" }",
            "is no alphabet; write 2 to 256",
        ),
        (
            "let.id = { random = 5, alphabet = \"a\\n\" }",
            "has a control character",
        ),
        ("let.id = { one_of = [] }", "has 0 texts; write 1 to 1000"),
        ("let.id = { counter = 1, step = 0 }", "0 counts nothing"),
        (
            "let.id = { counter = \"x\" }",
            "found the string \"x\" where a whole number",
        ),
        (
            "let.id = { timestamp = \"utc\" }",
            "\"utc\" is no format of a timestamp",
        ),
        (
            "let.id = { timestamp = \"%Q\" }",
            "has a % before what has no meaning here",
        ),
        (
            "let.id = { digest = \"md5\", of = \"x\" }",
            "\"md5\" is not built in; write \"sha1\"",
        ),
        (
            "let.id = { digest = \"sha3\", of = \"x\" }",
            "\"sha3\" is not known here; write",
        ),
        (
            "let.id = { digest = \"sha256\" }",
            "does not say of what; write of =",
        ),
        (
            "let.id = { digest = \"sha256\", of = \"x\", key = \"k\" }",
            "key: is for hmac",
        ),
        (
            "let.id = { hmac = \"sha256\", of = \"x\" }",
            "has no key; write key =",
        ),
        (
            "let.id = { hmac = \"sha256\", of = \"x\", key = \"\" }",
            "key: is empty",
        ),
        (
            "let.id = { encode = \"hex\", of = \"x\", as = \"hex\" }",
            "as: is for digest and hmac; remove it",
        ),
        (
            "let.id = { digest = \"sha256\", of = \"{id}\" }",
            "let.id: is made of itself",
        ),
        (
            "let.a = { one_of = [\"{b}\"] }\nlet.b = \"uuid\"",
            "has the made value {b}, which can stand in of and key here",
        ),
        ("let.seq = \"uuid\"", "is not the name of a made value"),
        ("let.cookie = \"uuid\"", "is not the name of a made value"),
        (
            "let.a = \"uuid\"\nvars.a = \"x\"",
            "let.a: is the name of a variable too",
        ),
        (
            "let.a = \"uuid\"\nname = \"{a}\"",
            "has the made value {a}, which can stand in",
        ),
        (
            "let.a = \"uuid\"\nrequest.path = \"/{b}\"",
            "{b} is none of {a}, {user}, {seq}",
        ),
        (
            "let.a = \"uuid\"\nrequest.body = '[{a}]'",
            "{a} is no JSON value, and stands outside",
        ),
        (
            "let.a = { one_of = [\"a b\"] }\nrequest.path = \"/{a|raw}\"",
            "{a|raw} has characters that cannot stand in a path as they are; leave out |raw",
        ),
        (
            "let.a = { one_of = [\"a\\nb\"] }\nrequest.headers.x = \"{a}\"",
            "{a} has a control character, which would end or break the header",
        ),
        ("lets.a = \"uuid\"", "unknown key; write let"),
    ] {
        let said = problem(text);
        assert!(said.contains(expected), "{text}\n{said}\n{expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let circle = "let.a = { digest = \"sha1\", of = \"{b}\" }\n\
                  let.b = { digest = \"sha1\", of = \"{a}\" }\n";
    assert_eq!(problem(circle).matches("is made of itself").count(), 2);
}

#[test]
fn values_of_values_of_values_end() {
    let mut text = String::from("let.v0 = \"uuid\"\n");
    for number in 1..30 {
        let of = number - 1;
        text += &format!("let.v{number} = {{ digest = \"sha1\", of = \"{{v{of}}}{{v{of}}}\" }}\n");
    }
    let said = problem(&text);
    assert!(said.contains("let.v5: takes 63 values"), "{said}");
}
