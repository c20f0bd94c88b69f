//! Files with several runs: which runs they are, in which order, and with which plans.

use crate::support::{Folder, again, campaign, parse};
use plan::{Campaign, Files, Limit, Search, SearchRange};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const BASE: &str =
    "name = \"x\"\ntarget.url = \"https://a.test/\"\nload = { connections = 1, requests = 1 }\n";

fn names(campaign: &Campaign) -> Vec<&str> {
    campaign
        .variants()
        .iter()
        .map(|variant| variant.name.as_str())
        .collect()
}

/// The campaign of `BASE` followed by `text`.
fn campaign_of(text: &str) -> Campaign {
    campaign(&format!("{BASE}{text}")).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

#[test]
fn a_plain_file_is_one_run_of_its_plan() {
    let plain = campaign_of("");
    let plan = parse(BASE).unwrap();
    assert_eq!(names(&plain), ["base"]);
    assert_eq!(
        (
            plain.single(),
            plain.runs().len(),
            plain.search(),
            plain.name()
        ),
        (Some(&plan), 1, None, "x")
    );
    assert_eq!(plain, Campaign::from_plan(plan));
}

#[test]
fn variants_run_in_the_order_of_the_file_without_the_base() {
    let two = campaign_of(
        "[variants]\nz = { tls.resumption = \"always\" }\na = { target.url = \"http://b.test/\" }",
    );
    assert_eq!(names(&two), ["z", "a"]);
    let alone = |line: &str| parse(&format!("{BASE}{line}")).unwrap();
    assert_eq!(two.variants()[0].plan, alone("tls.resumption = \"always\""));
    assert_eq!(
        two.variants()[1].plan,
        parse(&BASE.replace("https://a", "http://b")).unwrap()
    );
    assert_eq!(two.single(), None);
    let with_base = campaign_of("[variants]\nbase = {}\nz = { tls.resumption = \"always\" }");
    assert_eq!(names(&with_base), ["base", "z"]);
    assert_eq!(with_base.variants()[0].plan, parse(BASE).unwrap());
}

#[test]
fn bare_and_quoted_paths_and_headers_mean_the_same() {
    let ways = [
        "[variants]\nv = { tls.verify = \"once\", thresholds.errors.share = \"<= 0\" }",
        "[variants.v]\n\"tls.verify\" = \"once\"\n\"thresholds.errors.share\" = \"<= 0\"",
        "[variants.v.tls]\nverify = \"once\"\n[variants.v.thresholds]\n\"errors.share\" = \"<= 0\"",
        "[variants]\n\"v.tls.verify\" = \"once\"\nv.\"thresholds\".errors.share = \"<= 0\"",
        "[matrix]\n\"tls.verify\" = [\"once\"]\nthresholds.\"errors.share\" = [\"<= 0\"]",
        "[matrix.tls]\nverify = [\"once\"]\n[matrix.thresholds.errors]\nshare = [\"<= 0\"]",
    ];
    let plans = ways.map(|way| campaign_of(way).variants()[0].plan.clone());
    let expected = parse(&format!(
        "{BASE}tls.verify = \"once\"\nthresholds.errors.share = \"<= 0\""
    ))
    .unwrap();
    assert!(plans.iter().all(|plan| *plan == expected));
}

/// Base, then a variant's text, then the file with the same effect.
const REPLACED: [(&str, &str, &str); 8] = [
    // A list is one value.
    (
        "tls.versions = [\"1.2\", \"1.3\"]",
        "tls.versions = [\"1.3\"]",
        "tls.versions = [\"1.3\"]",
    ),
    // So is a table in braces; what it leaves out is at its default.
    (
        "tls.resumption = { share = 0.5, kind = \"session-id\" }\ntls.verify = \"once\"",
        "tls.resumption = { share = 0.8 }",
        "tls.resumption.share = 0.8\ntls.verify = \"once\"",
    ),
    // A path changes one of its fields.
    (
        "tls.resumption = { share = 0.5, kind = \"session-id\" }",
        "tls.resumption.share = 0.8",
        "tls.resumption = { share = 0.8, kind = \"session-id\" }",
    ),
    (
        "tls.resumption = \"always\"",
        "tls.resumption.share = 0.8",
        "tls.resumption.share = 0.8",
    ),
    (
        "thresholds = { rate = \"> 5\" }",
        "thresholds.\"errors.share\" = \"< 1\"",
        "thresholds = { rate = \"> 5\", \"errors.share\" = \"< 1\" }",
    ),
    (
        "thresholds = { rate = \"> 5\" }",
        "thresholds = { \"errors.share\" = \"< 1\" }",
        "thresholds.\"errors.share\" = \"< 1\"",
    ),
    (
        "request = [{ path = \"/a\" }, { path = \"/b\" }]",
        "request = [{ path = \"/c\" }]",
        "request = [{ path = \"/c\" }]",
    ),
    (
        "request.headers = { \"x.y\" = \"1\" }",
        "request.headers = { \"x.z\" = \"2\" }",
        "request.headers.\"x.z\" = \"2\"",
    ),
];

#[test]
fn values_replace_whole_and_paths_reach_in() {
    for (base, over, same) in REPLACED {
        let variant = campaign_of(&format!("{base}\nvariants.v = {{ {over} }}"));
        let expected = parse(&format!("{BASE}{same}")).unwrap();
        assert_eq!(
            variant.variants()[0].plan.canonical_text(),
            expected.canonical_text(),
            "{base}\n{over}"
        );
    }
}

#[test]
fn the_matrix_is_the_product_of_its_axes_and_the_variants() {
    let text = "[variants]\nbase = {}\nonce = { tls.verify = \"once\" \
                }\n[matrix]\n\"tls.versions\" = [[\"1.2\"], [\"1.2\", \
                \"1.3\"]]\n\"load.connections\" = [10, 20]";
    let product = campaign_of(text);
    let expected = [
        "base,tls.versions=1.2,load.connections=10",
        "base,tls.versions=1.2,load.connections=20",
        "base,tls.versions=1.2+1.3,load.connections=10",
        "base,tls.versions=1.2+1.3,load.connections=20",
        "once,tls.versions=1.2,load.connections=10",
        "once,tls.versions=1.2,load.connections=20",
        "once,tls.versions=1.2+1.3,load.connections=10",
        "once,tls.versions=1.2+1.3,load.connections=20",
    ];
    assert_eq!(names(&product), expected);
    assert_eq!(product.axes(), [2, 2, 2]);
    let one_value = "[variants]\na = {}\n[matrix]\n\"load.connections\" = [10, 20, 30]";
    assert_eq!(campaign_of(one_value).axes(), [3]);
    let last = "name = \"x\"\ntarget.url = \"https://a.test/\"\nload = { connections = 20, \
                requests = 1 }\ntls = { verify = \"once\", versions = [\"1.2\", \"1.3\"] }";
    assert_eq!(product.variants()[7].plan, parse(last).unwrap());
    assert_eq!(
        names(&campaign_of(
            "[matrix]\ntls.versions = [[\"1.2\"], [\"1.3\"]]"
        )),
        ["tls.versions=1.2", "tls.versions=1.3"]
    );
}

#[test]
fn values_with_one_name_are_numbered_and_long_names_cut() {
    let alike = campaign_of("matrix.request.path = [\"/a?b\", \"/a/b\"]");
    assert_eq!(names(&alike), ["request.path=a-b", "request.path=a-b~2"]);
    let bodies: Vec<String> = (0..6)
        .map(|axis| format!("\"request.headers.x-long-name-of-a-header-{axis}\" = [\"1\", \"2\"]"))
        .collect();
    let long = campaign_of(&format!("[matrix]\n{}", bodies.join("\n")));
    let unique: std::collections::BTreeSet<&str> = names(&long).into_iter().collect();
    assert_eq!(unique.len(), 64);
    assert!(unique.iter().all(|name| name.len() <= 120), "{unique:?}");
}

#[test]
fn runs_are_interleaved_and_shuffled_within_their_rounds() {
    let text = "[variants]\na = {}\nb = { tls.verify = \"once\" }\nc = { tls.verify = \"none\" \
                }\n[repeat]\ntimes = 2\n";
    let order = |more: &str| {
        campaign_of(&format!("{text}{more}"))
            .runs()
            .iter()
            .map(|run| (run.repeat, run.variant))
            .collect::<Vec<_>>()
    };
    assert_eq!(order(""), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    let shuffled = order("shuffle = true\nseed = 5");
    assert_eq!(shuffled, order("shuffle = true\nseed = 5"));
    assert!((0..20).any(|seed| order(&format!("shuffle = true\nseed = {seed}")) != shuffled));
    let repeat = campaign_of("[repeat]\ntimes = 3\npause = \"5s\"").repeat();
    assert_eq!(
        (repeat.times, repeat.pause, repeat.shuffle),
        (3, Duration::from_secs(5), None)
    );
    assert_eq!(campaign_of("").repeat().pause, Duration::from_secs(1));
}

#[test]
fn files_are_read_once() {
    struct Counted(Folder, BTreeMap<String, usize>);
    impl Files for Counted {
        fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
            *self.1.entry(name.to_owned()).or_default() += 1;
            self.0.read(name)
        }
        fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
            *self.1.entry(folder.to_owned()).or_default() += 1;
            self.0.list(folder)
        }
    }
    let mut files = Counted(Folder::new(), BTreeMap::new());
    let text = format!(
        "{BASE}tls = {{ ca = \"ca.pem\", client_certificates = \"clients\" \
         }}\nmatrix.load.connections = [1, 2, 3]"
    );
    Campaign::parse(&text, &mut files).unwrap();
    assert!(
        files.1.len() > 2 && files.1.values().all(|count| *count == 1),
        "{:?}",
        files.1
    );
}

const SEARCHED: &str = "target.url = \"https://a.test/\"\n";

#[test]
fn a_search_needs_no_amount_and_begins_with_its_first_hold() {
    let text = format!(
        "{SEARCHED}load = {{ arrivals = \"poisson\", warm_up = \"2s\" \
         }}\nthresholds.\"response_time.p99\" = \"<= 250ms\"\n[search]\nrate = {{ from = \
         \"100/s\", to = \"50000/s\" }}"
    );
    let searched = campaign(&text).unwrap();
    let Some(Search::Capacity(capacity)) = searched.search() else {
        panic!("{:?}", searched.search())
    };
    assert_eq!(capacity.range.ends(), (100.0, 50000.0));
    assert_eq!(
        (capacity.hold, capacity.precision, capacity.settle),
        (Duration::from_secs(20), 0.03, Duration::from_secs(30))
    );
    let first = format!(
        "{SEARCHED}load = {{ rate = \"100/s\", arrivals = \"poisson\", warm_up = \"2s\", duration \
         = \"20s\" }}\nthresholds.\"response_time.p99\" = \"<= 250ms\""
    );
    let plan = &searched.variants()[0].plan;
    assert_eq!(*plan, parse(&first).unwrap());
    assert_eq!(capacity.plan_at(plan, 100.0).as_ref(), Ok(plan));
    assert_eq!(searched.single(), None);
}

#[test]
fn what_a_search_replaces_is_checked_and_remarked() {
    let text = format!(
        "{SEARCHED}load = {{ connections = 7, requests = 10, think_time = \"1s\" \
         }}\nthresholds.errors.share = \"<= 0\"\nsearch = {{ connections = {{ from = 10, to = \
         5000 }}, hold = \"5s\", precision = 0.1, settle = \"0s\" }}"
    );
    let searched = campaign(&text).unwrap();
    assert_eq!(
        searched.notes(),
        ["[search] takes the place of load.connections, load.requests"]
    );
    let first = format!(
        "{SEARCHED}load = {{ connections = 10, duration = \"5s\", think_time = \"1s\" \
         }}\nthresholds.errors.share = \"<= 0\""
    );
    assert_eq!(searched.variants()[0].plan, parse(&first).unwrap());
    let wrong = campaign(&text.replace("connections = 7", "connections = \"7\"")).unwrap_err();
    assert!(
        wrong.contains("load.connections: found the string"),
        "{wrong}"
    );
}

#[test]
fn a_search_without_thresholds_looks_for_no_failure() {
    let text = format!("{SEARCHED}search.connections = {{ from = 1, to = 2 }}");
    let searched = campaign(&text).unwrap();
    let thresholds = searched.variants()[0].plan.thresholds();
    assert_eq!(thresholds.len(), 1);
    assert_eq!(
        (
            thresholds[0].metric.to_string().as_str(),
            thresholds[0].limit
        ),
        ("errors.count", Limit::Number(0.0))
    );
    assert!(
        searched.notes()[0].starts_with("there are no [thresholds]"),
        "{:?}",
        searched.notes()
    );
}

#[test]
fn a_search_over_agents_gives_each_the_whole_load() {
    let searched = campaign_of("search.agents = [1, 2, 4]");
    assert_eq!(searched.search(), Some(&Search::Agents(vec![1, 2, 4])));
    let one = &searched.variants()[0].plan;
    assert_eq!(*one, parse(BASE).unwrap());
    let four = BASE.replace(
        "connections = 1, requests = 1",
        "connections = 4, requests = 4",
    );
    assert_eq!(one.for_agents(4), Ok(parse(&four).unwrap()));
}

#[test]
fn each_variant_is_searched() {
    let text = format!(
        "{SEARCHED}thresholds.errors.share = \"<= 0\"\nsearch.connections = {{ from = 1, to = 9 \
         }}\n[variants]\na = {{}}\nb.tls.verify = \"once\"\n[repeat]\ntimes = 2"
    );
    let searched = campaign(&text).unwrap();
    assert_eq!(searched.runs().len(), 4);
    let Some(Search::Capacity(capacity)) = searched.search() else {
        panic!("{:?}", searched.search())
    };
    assert_eq!(capacity.range, SearchRange::Connections { from: 1, to: 9 });
    for variant in searched.variants() {
        let held = capacity.plan_at(&variant.plan, 5.0).unwrap();
        assert_eq!(again(&held), Ok(held));
    }
}

/// Threshold, hold, warm-up; whether an overload of 3 % violates it, computed by hand:
/// 0.03·(warm-up + q·hold) compared with the limit.
const OVERLOADS: [(&str, &str, &str, bool); 16] = [
    ("response_time.max = \"<= 250ms\"", "8s", "0s", false), // 240 ms
    ("response_time.max = \"<= 250ms\"", "9s", "0s", true),  // 270 ms
    ("response_time.p50 = \"<= 250ms\"", "16s", "0s", false), // 240 ms
    ("response_time.p50 = \"<= 250ms\"", "17s", "0s", true), // 255 ms
    ("response_time.p50 = \"<= 250ms\"", "16s", "1s", true), // 270 ms
    ("response_time.mean = \"< 250ms\"", "16s", "0s", false), // 240 ms
    ("response_time.mean = \"< 250ms\"", "17s", "0s", true), // 255 ms
    ("response_time.sd = \"<= 100ms\"", "11s", "0s", false), // 330 ms / √12 = 95 ms
    ("response_time.sd = \"<= 100ms\"", "12s", "0s", true),  // 360 ms / √12 = 104 ms
    ("response_time.min = \"<= 100ms\"", "1h", "3s", false), // 90 ms
    ("response_time.min = \"<= 100ms\"", "1s", "4s", true),  // 120 ms
    ("errors.count = \"<= 0\"", "999s", "0s", false),        // 29.97 s, and requests may take 30 s
    ("errors.count = \"<= 0\"", "1001s", "0s", true),
    ("errors.share = \"<= 0.5\"", "1001s", "0s", false), // half of the arrivals wait less than 15 s
    ("rate = \">= 100\"", "1h", "0s", false),
    ("lateness.max = \"<= 1ms\"", "1h", "0s", false),
];

#[test]
fn a_hold_too_short_for_an_overload_to_show_is_remarked() {
    for (threshold, hold, warm_up, shows) in OVERLOADS {
        let text = format!(
            "{SEARCHED}load.warm_up = \"{warm_up}\"\n[thresholds]\n{threshold}\n[search]\nrate = \
             {{ from = \"1/s\", to = \"9/s\" }}\nhold = \"{hold}\""
        );
        let notes = campaign(&text).unwrap().notes().to_vec();
        assert_eq!(notes.is_empty(), shows, "{threshold} in {hold}: {notes:?}");
    }
}

#[test]
fn every_cure_of_a_short_hold_is_one() {
    let text = format!(
        "{SEARCHED}[thresholds]\nresponse_time.p99 = \"<= 1s\"\n[search]\nrate = {{ from = \
         \"1/s\", to = \"9/s\" }}"
    );
    let said = "search.hold = \"20s\" is too short for an overload of 3 % to show: by its end \
                arrivals wait 600ms (0.03 of warm_up and hold), and no threshold notices that; \
                write hold = \"34s\" or longer, or a threshold such as \"response_time.p99\" = \
                \"<= 300ms\"";
    assert_eq!(campaign(&text).unwrap().notes(), [said]);
    assert_eq!(
        campaign(&format!("{text}\nhold = \"34s\""))
            .unwrap()
            .notes(),
        Vec::<String>::new()
    );
    assert_eq!(
        campaign(&text.replace("1s", "300ms")).unwrap().notes(),
        Vec::<String>::new()
    );
}

#[test]
fn too_many_variants_are_refused_with_the_bound() {
    let variants = |count: usize| {
        (0..count)
            .map(|number| format!("v{number}.load.connections = {}\n", number + 1))
            .collect::<String>()
    };
    let message = campaign(&format!("{BASE}[variants]\n{}", variants(2000))).unwrap_err();
    assert_eq!(
        message,
        "4:2: variants: has 2000 variants; write at most 500"
    );
    let message = campaign(&format!(
        "{BASE}[variants]\n{}[repeat]\ntimes = 3",
        variants(200)
    ))
    .unwrap_err();
    assert_eq!(
        message,
        "4:2: variants: comes to 600 runs (200 from [variants] × 1 from [matrix] × 3 from \
         [repeat]); write at most 500"
    );
    assert_eq!(
        campaign_of(&format!("[variants]\n{}", variants(500)))
            .runs()
            .len(),
        500
    );
}

#[test]
fn an_axis_of_a_whole_file_is_refused_at_once() {
    let values: Vec<u32> = (0..100_000).collect();
    let message = campaign(&format!("{BASE}[matrix]\nload.seed = {values:?}")).unwrap_err();
    let said = "4:2: matrix: comes to 100000 runs (1 from [variants] × 100000 from [matrix] × 1 \
                from [repeat]); write at most 500";
    assert_eq!(message, said);
}

#[test]
fn variants_that_are_large_together_are_refused() {
    let body = "x".repeat(600_000);
    let text = format!(
        "{BASE}request.body = \"{body}\"\nmatrix.load.connections = {:?}",
        (1..=120).collect::<Vec<_>>()
    );
    assert!(
        campaign(&text)
            .unwrap_err()
            .contains("come to more than 64 MiB")
    );
}

#[test]
fn problems_of_many_variants_stay_few() {
    let keys: String = (0..1000).map(|number| format!("k{number} = 1\n")).collect();
    let variants: String = (0..400)
        .map(|number| format!("v{number} = {{ z{number} = 1 }}\n"))
        .collect();
    let problems = Campaign::parse(
        &format!("{keys}{BASE}[variants]\n{variants}"),
        &mut Folder::new(),
    )
    .unwrap_err()
    .0;
    assert_eq!(problems.len(), 201);
    let problems = Campaign::parse(&format!("{BASE}[variants]\n{variants}"), &mut Folder::new())
        .unwrap_err()
        .0;
    assert_eq!((problems.len(), problems[0].place), (201, Some((5, 8))));
}
