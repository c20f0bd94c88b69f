//! Requests that are gRPC calls.

use crate::support::{again, parse};
use measure::GrpcStatus;
use plan::{Body, Files, Plan, Template};
use std::sync::Arc;

const BASE: &str = "target.url = \"http://a.test/\"\n\
                    load = { connections = 1, requests = 1 }\n\
                    data.users.file = \"users.csv\"\n\
                    vars.key = { secret = \"s3cret\" }\n";

const HTTP2: &str = "connection.http = \"2\"\n";

fn read(sections: &str) -> Result<Plan, String> {
    parse(&format!("{BASE}{sections}\n"))
}

/// A plan with one call; `call` stands in its table `grpc`, `beside` beside that.
fn plan(call: &str, beside: &str) -> Plan {
    let request = format!("[request]\n{beside}\n[request.grpc]\nmethod = \"a.B/C\"\n{call}");
    let plan = read(&format!("{HTTP2}{request}")).expect("a plan");
    let again = again(&plan).expect("the canonical text is a plan");
    assert_eq!(
        (again.digest(), again.requests()),
        (plan.digest(), plan.requests())
    );
    plan
}

fn problem(request: &str) -> String {
    read(&format!("{HTTP2}[request]\n{request}")).expect_err("problems")
}

const SET: &str = "descriptors = \"api.binpb\"\n";

#[test]
fn call_is_a_post_with_the_fields_of_grpc() {
    let plan = plan(
        &format!("{SET}timeout = \"1500ms\""),
        "headers.x-id = \"{seq}\"",
    );
    let request = &plan.requests()[0];
    assert_eq!(
        (request.name.as_str(), request.method.as_str()),
        ("a.B/C", "POST")
    );
    assert_eq!(request.path, Some(Template::from("/a.B/C")));
    let fields: Vec<String> = request
        .fields()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(
        fields,
        [
            "x-id: {seq}",
            "te: trailers",
            "content-type: application/grpc",
            "grpc-timeout: 1500m"
        ]
    );
    assert!(request.expect.status.contains(200) && !request.expect.status.contains(204));
    assert!(request.is_watched());
}

#[test]
fn canonical_text_has_the_message_encoded() {
    let plan = plan(
        &format!("{SET}message = {{ name = \"{{users.login}}-{{key}}\", cookie = \"c\" }}"),
        "",
    );
    let text = plan.canonical_text();
    let line = text.lines().find(|line| line.starts_with("grpc = "));
    assert_eq!(
        line,
        Some(
            "grpc = { method = \"a.B/C\", encoded = [\"Cg==\", [{ text = \
             \"{\\\"name\\\":\\\"{users.login}-{key}\\\",\\\"cookie\\\":\\\"c\\\"}\" }]] }"
        )
    );
    assert!(
        !text.contains("api.binpb") && !text.contains("\nmethod = "),
        "{text}"
    );
    assert!(!plan.masked_text().contains("s3cret"));
    // Nothing of descriptors travels.
    assert_eq!(plan.files().len(), 1);
}

#[test]
fn what_is_read_of_an_answer_travels_without_descriptors() {
    let text = format!(
        "{HTTP2}[[journey]]\nsteps = [\"a.B/C\"]\n[request]\ncapture.x = {{ json = \"/id\" }}\n\
         expect.json = {{ \"/n\" = \"5\" }}\n\
         grpc = {{ method = \"a.B/C\", descriptors = \"api.binpb\" }}"
    );
    let text = format!("{BASE}{text}").replace("requests = 1", "journeys = 1");
    let plan = parse(&text).expect("a plan");
    let answer = &plan.requests()[0].grpc.as_ref().expect("a call").answer;
    let names: Vec<&str> = answer
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["id", "n"]);
    let again = again(&plan).expect("the canonical text is a plan");
    assert_eq!(
        (again.digest(), again.requests()),
        (plan.digest(), plan.requests())
    );
}

#[test]
fn every_kind_of_field_has_a_text() {
    let answer = "[{ number = 1, name = \"a\", label = \"repeated\", fields = [\
                  { number = 2, name = \"b\", label = \"optional\", values = [\
                  \"0 NO\", \"-1 Y\"] }] }, { number = 3, name = \"m\", label = \"map\", fields = [\
                  { number = 1, name = \"key\", label = \"implicit\", type = \"sint64\" }, \
                  { number = 2, name = \"value\", label = \"implicit\", type = \"double\" }] }]";
    let plan = plan(
        &format!("encoded = []\nanswer = {answer}"),
        "expect.json = { \"/a/0/b\" = \"NO\", \"/m/5\" = 1.5, \"/a\" = { present = true } }",
    );
    assert!(
        plan.canonical_text().contains(answer),
        "{}",
        plan.canonical_text()
    );
}

#[test]
fn plans_without_calls_have_the_text_that_they_had() {
    let text = parse(&format!("{BASE}[request]\npath = \"/\""))
        .unwrap()
        .canonical_text();
    assert!(!text.contains("grpc"), "{text}");
}

#[test]
fn statuses_are_named_or_numbered() {
    let plan = plan(
        "encoded = []",
        "expect.grpc_status = [\"NOT_FOUND\", 0, \"not_found\"]",
    );
    let request = &plan.requests()[0];
    assert_eq!(
        request.expect.grpc_status,
        [GrpcStatus::Ok, GrpcStatus::NotFound]
    );
    assert_eq!(request.body, Some(Body::Message(vec![])));
}

#[test]
fn method_may_be_written_as_other_tools_do() {
    for method in ["a.B/C", "/a.B/C", "a.B.C"] {
        let text = format!("{HTTP2}[request]\ngrpc = {{ method = \"{method}\", encoded = [] }}");
        let plan = read(&text).expect(method);
        assert_eq!(plan.requests()[0].path, Some(Template::from("/a.B/C")));
    }
}

#[test]
fn each_wrong_call_says_what_to_write() {
    let call = |call: &str| format!("grpc = {{ {call} }}");
    let beside = |beside: &str| format!("grpc = {{ method = \"a.B/C\", encoded = [] }}\n{beside}");
    let described = |beside: &str| {
        format!("grpc = {{ method = \"a.B/C\", descriptors = \"api.binpb\" }}\n{beside}")
    };
    for (request, why) in [
        (
            call("encoded = []"),
            "request.grpc: names no method; write a method such as",
        ),
        (
            call("method = \"C\", encoded = []"),
            "request.grpc.method: \"C\" is no method",
        ),
        (call("method = \"a./C\", encoded = []"), "is no method"),
        (
            call("method = \"a.B/C\""),
            "request.grpc: names no descriptors; write descriptors",
        ),
        (
            call("method = \"a.B/C\", descriptors = \"api.binpb\", encoded = []"),
            "request.grpc.descriptors: given beside encoded",
        ),
        (
            call("method = \"a.B/C\", encoded = [\"%\"]"),
            "encoded[0]: \"%\" is not base64",
        ),
        (
            call("method = \"a.B/C\", encoded = 5"),
            "found the integer 5 where a list belongs",
        ),
        (
            call("method = \"a.B/C\", descriptors = \"none.binpb\""),
            "\"none.binpb\" cannot be read: no such file",
        ),
        (
            call("method = \"a.B/NoSet\", descriptors = \"api.binpb\""),
            "request.grpc.descriptors: \"api.binpb\" is no set",
        ),
        (
            call("method = \"a.B/NoMethod\", descriptors = \"api.binpb\""),
            "request.grpc.method: there is none",
        ),
        (
            call("method = \"a.B/NoMessage\", descriptors = \"api.binpb\""),
            "request.grpc.message: is no message",
        ),
        (
            call("method = \"a.B/C\", descriptors = \"api.binpb\", message = '{\"a\": {seq}}'"),
            "has a placeholder without quotes in a field that is no number; write quotes",
        ),
        (
            call("method = \"a.B/C\", encoded = [], timeout = \"0s\""),
            "request.grpc.timeout: \"0s\" is out of range",
        ),
        (
            call("method = \"a.B/C\", encoded = [], call = \"x\""),
            "request.grpc.call: unknown key",
        ),
        (
            beside("method = \"GET\""),
            "request.method: follows from grpc.method",
        ),
        (
            beside("path = \"/\""),
            "request.path: follows from grpc.method",
        ),
        (beside("body = \"x\""), "request.body: given beside grpc"),
        (
            beside("chunk_bytes = 5"),
            "request.chunk_bytes: has no meaning for a gRPC call",
        ),
        (
            beside("redirects = 1"),
            "request.redirects: has no meaning for a gRPC call",
        ),
        (
            beside("stream.events = \"sse\""),
            "request.stream.events: is for texts, and a gRPC call is answered with messages",
        ),
        (
            beside("stream.end = \"[DONE]\""),
            "request.stream.end: is for texts",
        ),
        (
            format!("stream.cut_after = 3\n[request.grpc]\nmethod = \"a.B/C\"\n{SET}"),
            "request.stream: has no meaning for this method, which has one answer; remove it",
        ),
        (
            beside("expect.json.\"/a\" = 1"),
            "request.expect.json: \"/a\" is not in grpc.answer",
        ),
        (
            described("expect.json.\"/a/*\" = 1"),
            "request.expect.json: \"/a/*\" has a *, which stands for no value here",
        ),
        (
            described("capture.x.json = \"\""),
            "request.capture: \"\" leads to a message; name one of its fields",
        ),
        (
            described("capture.x.json = \"/none\""),
            "request.grpc: has an answer in which \"/none\", which request.capture names, leads \
             nowhere: there is no such field",
        ),
        (
            "capture.x.json = \"/a\"\ngrpc = { method = \"a.B/Watch\", descriptors = \
             \"api.binpb\" }"
                .to_owned(),
            "request.capture: looks at the messages of a stream, which are only counted",
        ),
        (
            call("method = \"a.B/C\", descriptors = \"api.binpb\", answer = []"),
            "request.grpc.answer: belongs to an encoded message",
        ),
        (
            call("method = \"a.B/C\", encoded = [], answer = [{ number = 0 }]"),
            "request.grpc.answer[0].number: 0 is out of range",
        ),
        (
            beside("expect.status = [204]"),
            "request.expect: has a status, which is 200",
        ),
        (
            beside("expect.grpc_status = []"),
            "[] expects no status at all",
        ),
        (
            beside("expect.grpc_status = [17]"),
            "17 is no status of gRPC; write one of ok, cancelled",
        ),
        (
            beside("expect.grpc_status = [\"lost\"]"),
            "\"lost\" is no status of gRPC",
        ),
        (
            beside("headers.te = \"gzip\""),
            "request.grpc: needs te: trailers",
        ),
        (
            beside("headers.content-type = \"text/html\""),
            "needs content-type: application/grpc",
        ),
        (
            beside("capture.x.matches = \"x\""),
            "request.capture: takes a text from the body",
        ),
        (
            "expect.grpc_status = [\"ok\"]".to_owned(),
            "request.expect: has grpc_status, which only gRPC calls have",
        ),
    ] {
        let said = problem(&request);
        assert!(said.contains(why), "{request}\n{said}");
    }
}

#[test]
fn method_that_streams_its_answers_makes_a_stream_of_messages() {
    for (beside, cut_after) in [("", None), ("stream.cut_after = 3", Some(3))] {
        let text = format!(
            "{HTTP2}[request]\n{beside}\n[request.grpc]\nmethod = \"a.B/Watch\"\n{SET}\
             [thresholds]\n\"event_gap.p99\" = \"<= 1s\""
        );
        let plan = read(&text).expect("a plan");
        let stream = plan.requests()[0].stream.clone().expect("a stream");
        assert_eq!(
            (stream.events, stream.end, stream.cut_after),
            (None, None, cut_after)
        );
        let again = again(&plan).expect("the canonical text is a plan");
        assert_eq!(again.requests(), plan.requests());
    }
    // Without descriptors the plan says so itself.
    let text =
        format!("{HTTP2}[request]\nstream = {{}}\ngrpc = {{ method = \"a.B/C\", encoded = [] }}");
    assert!(read(&text).expect("a plan").requests()[0].stream.is_some());
}

#[test]
fn calls_need_http_2() {
    let said = read("[request]\ngrpc = { method = \"a.B/C\", encoded = [] }").unwrap_err();
    assert!(
        said.contains(
            "connection: speaks HTTP/1.1, and gRPC calls need HTTP/2; write http = \"2\""
        ),
        "{said}"
    );
}

#[test]
fn te_with_trailers_is_the_one_that_http_2_allows() {
    let with = |te: &str| read(&format!("{HTTP2}[request]\nheaders.te = \"{te}\""));
    assert!(with("trailers").is_ok());
    assert!(with("gzip").unwrap_err().contains("which HTTP/2 forbids"));
}

#[test]
fn reader_without_an_encoder_says_what_to_write() {
    struct OnlyNames;
    impl Files for OnlyNames {
        fn read(&mut self, _name: &str) -> Result<Arc<[u8]>, String> {
            Ok([].into())
        }
    }
    let text = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 1 }\n\
                request.grpc = { method = \"a.B/C\", descriptors = \"api.binpb\" }";
    let said = Plan::parse(text, &mut OnlyNames).unwrap_err().to_string();
    assert!(
        said.contains("cannot be read here; write encoded"),
        "{said}"
    );
}

#[test]
fn numbers_of_messages_have_one_placeholder_that_is_a_number() {
    let encoded = |text: &str, kind: &str| {
        let values = "[let]\ncount = \"counter\"\nsmall = { random = [-5, 5] }\n\
                      share = { random = [0.5, 0.75] }\nid = \"uuid\"\n\
                      stamp = { timestamp = \"%Y%m%d%H%M%S%6f\" }\n";
        let part = format!("{{ text = \"{text}\", type = \"{kind}\" }}");
        let call = format!("grpc = {{ method = \"a.B/C\", encoded = [[{part}]] }}");
        let plan = read(&format!("{HTTP2}{values}\n[request]\n{call}"))?;
        let again = again(&plan).expect("the canonical text is a plan");
        assert_eq!(again.requests(), plan.requests());
        assert!(plan.canonical_text().contains(&part), "{part}");
        Ok::<(), String>(())
    };
    for (text, kind) in [
        ("{seq}", "int64"),
        ("{seq}", "fixed64"),
        ("{user}", "uint32"),
        ("{count}", "sint64"),
        ("{small}", "int32"),
        ("{small}", "double"),
        ("{share}", "float"),
    ] {
        assert_eq!(encoded(text, kind), Ok(()), "{text} {kind}");
    }
    for (text, kind, why) in [
        ("{seq}", "int32", "it has up to 19 digits, which int64"),
        ("{random}", "int64", "it is hexadecimal"),
        (
            "{small}",
            "uint32",
            "not every value that it can have is such a number; write a value of [let] such as",
        ),
        (
            "{share}",
            "int64",
            "not every value that it can have is such a number; write a value of [let] such as",
        ),
        (
            "{count}",
            "int32",
            "not every value that it can have is such a number; write a value of [let] such as",
        ),
        (
            "{id}",
            "int64",
            "not every value that it can have is such a number; write a value of [let] such as",
        ),
        (
            "1{seq}",
            "int64",
            "which takes one placeholder and no other characters",
        ),
        (
            "{seq}{user}",
            "int64",
            "which takes one placeholder and no other characters",
        ),
        (
            "{key}",
            "int64",
            "the value of this variable is no such number",
        ),
        (
            "{users.login}",
            "int64",
            "has a cell that is no int64: row 1 of \"users.csv\"",
        ),
        ("{seq}", "number", "is not known here"),
        ("{seq}", "string", "is no type of numbers"),
        ("abc", "int32", "it is no such number"),
        (
            "{stamp}",
            "int64",
            "not every value that it can have is such a number",
        ),
    ] {
        let said = encoded(text, kind).expect_err(why);
        assert!(
            said.contains(why) && !said.contains("s3cret"),
            "{text} {kind}: {said}"
        );
    }
}
