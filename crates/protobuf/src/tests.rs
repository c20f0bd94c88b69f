use super::*;
use plan::MessagePart;
use plan::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField};
use std::fs;

const PROTO: &str = r#"
    syntax = "proto3";
    package shop.v1;
    import "google/protobuf/timestamp.proto";
    service Carts {
        rpc Add(Item) returns (Item);
        rpc Watch(Item) returns (stream Item);
        rpc Fill(stream Item) returns (Item);
    }
    service Stock { rpc Count(Item) returns (Item); }
    message Item {
        string name = 1;
        int64 number = 2;
        repeated Item parts = 3;
        map<string, string> labels = 4;
        bytes picture = 5;
        google.protobuf.Timestamp since = 6;
        Color color = 7;
    }
    enum Color { NONE = 0; RED = 1; }
    service Numbers { rpc Put(All) returns (Item); }
    message All {
        int32 a = 1; int64 b = 2; uint32 c = 3; uint64 d = 4; sint32 e = 5; sint64 f = 6;
        fixed32 g = 7; fixed64 h = 8; sfixed32 i = 9; sfixed64 j = 10; float k = 11; double l = 12;
        repeated int32 packed = 13; repeated sfixed64 wide = 14;
        repeated double loose = 15 [packed = false];
        map<string, int64> by_name = 16; All inner = 17; repeated All list = 18;
        optional int64 maybe = 19; oneof one { uint32 first = 20; string second = 21; }
        string text = 22;
    }
"#;

/// The set of [`PROTO`], with or without what it imports.
fn set(has_imports: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.proto"), PROTO).unwrap();
    let mut set = protox::compile(["shop.proto"], [folder.path()]).unwrap();
    if !has_imports {
        set.file.retain(|file| file.name() == "shop.proto");
    }
    set.encode_to_vec()
}

fn encoded(json: &str) -> Result<Vec<MessagePart<String>>, MessageFault> {
    let call = encode(&set(true), "shop.v1.Carts/Add", json, &[])?;
    assert!(!call.is_streamed);
    Ok(call.message)
}

fn bytes(bytes: &[u8]) -> MessagePart<String> {
    MessagePart::Bytes(bytes.to_vec())
}

#[test]
fn message_without_placeholders_is_its_bytes() {
    let json = r#"{"name": "ab", "number": "300", "parts": [{"name": "c"}], "color": "RED"}"#;
    let expected = b"\x0a\x02ab\x10\xac\x02\x1a\x03\x0a\x01c\x38\x01";
    assert_eq!(encoded(json), Ok(vec![bytes(expected)]));
    assert_eq!(encoded("{}"), Ok(vec![]));
}

#[test]
fn texts_with_placeholders_stand_apart() {
    let mark = PLACEHOLDER_MARK;
    let json = format!(
        r#"{{"name": "a{mark}0{mark}", "number": 1, "parts": [{{}}, {{"name": "{mark}1{mark}"}}],
            "labels": {{"{mark}2{mark}": "x"}}}}"#
    );
    let text = |text: String| MessagePart::Delimited(vec![MessagePart::Text(text)]);
    assert_eq!(
        encoded(&json),
        Ok(vec![
            bytes(b"\x0a"),
            text(format!("a{mark}0{mark}")),
            bytes(b"\x10\x01\x1a\x00\x1a"),
            MessagePart::Delimited(vec![bytes(b"\x0a"), text(format!("{mark}1{mark}"))]),
            bytes(b"\x22"),
            MessagePart::Delimited(vec![
                bytes(b"\x0a"),
                text(format!("{mark}2{mark}")),
                bytes(b"\x12\x01x"),
            ]),
        ])
    );
}

#[test]
fn each_wrong_message_says_what_to_write() {
    let mark = PLACEHOLDER_MARK;
    for (json, why) in [
        (
            r#"{"nam": "x"}"#.to_owned(),
            "is no shop.v1.Item: unrecognized field name 'nam'; write name",
        ),
        (
            r#"{"name": 5}"#.to_owned(),
            "is no shop.v1.Item: invalid type: integer `5`, expected a string",
        ),
        (
            format!(r#"{{"color": "{mark}0{mark}"}}"#),
            "; placeholders can stand in fields that are strings or numbers",
        ),
        (
            format!(r#"{{"since": "{mark}0{mark}"}}"#),
            "; placeholders can stand in fields that are strings or numbers",
        ),
        (
            "{} {}".to_owned(),
            "is no shop.v1.Item: trailing characters",
        ),
        ("[".to_owned(), "is no shop.v1.Item: "),
    ] {
        let Err(MessageFault::Message(said)) = encoded(&json) else {
            panic!("{json} is taken");
        };
        assert!(said.contains(why), "{json}: {said}");
        assert!(!said.contains(mark), "{said}");
    }
}

#[test]
fn each_wrong_method_names_the_nearest() {
    for (method, why) in [
        (
            "shop.v1.Cart/Add",
            "the descriptors have no service shop.v1.Cart; write shop.v1.Carts (there are also \
             shop.v1.Stock, shop.v1.Numbers)",
        ),
        (
            "shop.v1.Carts/add",
            "shop.v1.Carts has no method \"add\"; write shop.v1.Carts/Add (there are also Watch, \
             Fill)",
        ),
        (
            "shop.v1.Carts/Fill",
            "takes a stream of messages, and only calls with one message can be made; name another \
             method",
        ),
    ] {
        let Err(MessageFault::Method(said)) = encode(&set(true), method, "{}", &[]) else {
            panic!("{method} is taken");
        };
        assert!(said.starts_with(why), "{said}");
    }
}

#[test]
fn method_may_answer_with_a_stream() {
    let call = encode(&set(true), "shop.v1.Carts/Watch", r#"{"name": "ab"}"#, &[]).unwrap();
    assert!(call.is_streamed);
    assert_eq!(call.message, [bytes(b"\x0a\x02ab")]);
}

#[test]
fn sets_that_the_library_does_not_survive_are_refused() {
    use prost_reflect::prost_types::FileDescriptorSet;
    let changed = |change: &dyn Fn(&mut FileDescriptorSet)| {
        let mut set = FileDescriptorSet::decode(&*set(true)).unwrap();
        change(&mut set);
        match encode(
            &set.encode_to_vec(),
            "shop.v1.Carts/Add",
            r#"{"labels": {"a": "b"}}"#,
            &[],
        ) {
            Err(MessageFault::Descriptors(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let of_edition = |set: &mut FileDescriptorSet| {
        let file = set.file.iter_mut().find(|file| file.name() == "shop.proto");
        file.unwrap().syntax = Some("editions".to_owned());
    };
    assert_eq!(
        changed(&of_edition),
        "cannot be used: shop.proto has the syntax \"editions\", and only proto2 and proto3 are \
         read; describe the service in one of those"
    );
    let without_key = |set: &mut FileDescriptorSet| {
        let messages = set.file.iter_mut().flat_map(|file| &mut file.message_type);
        let entries = messages.flat_map(|message| &mut message.nested_type);
        entries.for_each(|entry| entry.field.retain(|field| field.name() != "key"));
    };
    let why = changed(&without_key);
    assert!(
        why.ends_with("its descriptors contradict themselves"),
        "{why}"
    );
}

#[test]
fn wrong_sets_say_how_to_make_one() {
    let error = |set: &[u8]| encode(set, "shop.v1.Carts/Add", "{}", &[]).unwrap_err();
    let MessageFault::Descriptors(said) = error(&set(false)) else {
        panic!("a set without imports is taken");
    };
    assert!(said.contains("lacks files that its own import"), "{said}");
    assert!(said.contains("--include_imports"), "{said}");
    let MessageFault::Descriptors(said) = error(b"syntax = \"proto3\";") else {
        panic!("a text is taken for a set");
    };
    assert!(said.starts_with("is no descriptor set"), "{said}");
    let MessageFault::Method(said) = error(b"") else {
        panic!("an empty set has a method");
    };
    assert!(said.contains("no service at all"), "{said}");
}

/// What is read of an answer to `Add` along these pointers.
fn answer(pointers: &[&str]) -> Result<MessageShape, MessageFault> {
    encode(&set(true), "shop.v1.Carts/Add", "{}", pointers).map(|call| call.answer)
}

#[test]
fn pointers_become_fields_by_number() {
    let text = || FieldKind::Scalar(ScalarType::String);
    let of = |fields: Vec<ShapeField>| FieldKind::Message(MessageShape { fields });
    let (implicit, optional) = (FieldLabel::Implicit, FieldLabel::Optional);
    let shape = answer(&[
        "/name",
        "/parts/*/name",
        "/parts/0/number",
        "/labels/a~1b",
        "/color",
    ]);
    let number = || FieldKind::Scalar(ScalarType::Int64);
    let colors = vec![(0, "NONE".to_owned()), (1, "RED".to_owned())];
    let expected = vec![
        ShapeField::new(1, "name", implicit, text()),
        ShapeField::new(
            3,
            "parts",
            FieldLabel::Repeated,
            of(vec![
                ShapeField::new(1, "name", implicit, text()),
                ShapeField::new(2, "number", implicit, number()),
            ]),
        ),
        ShapeField::new(
            4,
            "labels",
            FieldLabel::Map,
            of(vec![
                ShapeField::new(1, "key", implicit, text()),
                ShapeField::new(2, "value", implicit, text()),
            ]),
        ),
        ShapeField::new(7, "color", implicit, FieldKind::Enum(colors)),
    ];
    assert_eq!(shape, Ok(MessageShape { fields: expected }));
    let since = answer(&["/since/seconds"]).expect("a message within");
    let seconds = of(vec![ShapeField::new(1, "seconds", implicit, number())]);
    assert_eq!(
        since.fields,
        [ShapeField::new(6, "since", optional, seconds)]
    );
}

#[test]
fn each_wrong_pointer_says_what_to_write() {
    for (pointer, said) in [
        ("/nam", "shop.v1.Item has no field \"nam\"; write name"),
        (
            "/parts/x/name",
            "parts is repeated, and \"x\" is the number of none",
        ),
        ("/name/first", "name is no message and has no first"),
        ("/labels/a/b", "labels is no message and has no b"),
    ] {
        let Err(MessageFault::Pointer {
            pointer: wrong,
            why,
        }) = answer(&["/name", pointer])
        else {
            panic!("{pointer} leads somewhere");
        };
        assert_eq!(wrong, pointer);
        assert!(why.starts_with(said), "{why}");
    }
    let deep = "/parts/0".repeat(60);
    assert!(answer(&[&deep]).is_err());
}

/// The bytes of parts in which each placeholder has its text of these.
fn sent(parts: &[MessagePart<String>], texts: &[&str]) -> Vec<u8> {
    let filled = |marked: &String| {
        let pieces = marked.split(PLACEHOLDER_MARK).enumerate();
        let pieces = pieces.map(|(index, piece)| match index % 2 {
            0 => piece,
            _ => texts[piece.parse::<usize>().unwrap()],
        });
        pieces.collect::<String>()
    };
    let mut out = Vec::new();
    for part in parts {
        match part {
            MessagePart::Bytes(bytes) => out.extend_from_slice(bytes),
            MessagePart::Text(text) => out.extend_from_slice(filled(text).as_bytes()),
            MessagePart::Number(text, kind) => kind.put(filled(text).as_bytes(), &mut out),
            MessagePart::Delimited(parts) => {
                let inner = sent(parts, texts);
                ScalarType::Uint64.put(inner.len().to_string().as_bytes(), &mut out);
                out.extend(inner);
            }
        }
    }
    out
}

#[test]
fn numbers_with_placeholders_are_what_the_encoder_makes_of_their_texts() {
    let put = |json: &str| encode(&set(true), "shop.v1.Numbers/Put", json, &[]);
    let every = r#""a": %, "b": %, "c": %, "d": %, "e": %, "f": %, "g": %, "h": %, "i": %, "j": %,
                   "k": %, "l": %"#;
    for (json, texts) in [
        (format!("{{{every}}}"), &["7"][..]),
        (format!("{{{every}}}"), &["2000000000", "1", "300", "16384"]),
        (
            r#"{"a": %, "b": %, "e": %, "f": %, "i": %, "j": %, "k": %, "l": %}"#.to_owned(),
            &["-1", "-2147483648"],
        ),
        (r#"{"d": %, "h": %}"#.to_owned(), &["18446744073709551615"]),
        (r#"{"k": %, "l": %}"#.to_owned(), &["0.5", "-1e10"]),
        (
            format!(
                r#"{{"inner": {{{every}, "inner": {{"b": %}}}}, "list": [{{"b": 5}}, {{"b": %}}]}}"#
            ),
            &["123456", "5"],
        ),
        (
            r#"{"packed": [1, %, 300, %], "wide": [%, 2], "loose": [0.5, %]}"#.to_owned(),
            &["9", "70000"],
        ),
        (
            r#"{"byName": {"x": %}, "maybe": %, "first": %}"#.to_owned(),
            &["9", "70000"],
        ),
        (
            r#"{"a": 5, "text": "n %", "by_name": {"%": 6}, "b": %}"#.to_owned(),
            &["9", "70000"],
        ),
    ] {
        let (mut marked, mut literal) = (String::new(), String::new());
        let (mut number, mut is_text) = (0, false);
        for part in json.split_inclusive('%') {
            let (before, has_one) = match part.strip_suffix('%') {
                Some(before) => (before, true),
                None => (part, false),
            };
            is_text ^= before.matches('"').count() % 2 == 1;
            let quote = if is_text { "" } else { "\"" };
            marked += before;
            literal += before;
            if has_one {
                marked += &format!("{quote}{PLACEHOLDER_MARK}{number}{PLACEHOLDER_MARK}{quote}");
                literal += texts[number % texts.len()];
                number += 1;
            }
        }
        let texts: Vec<&str> = (0..number)
            .map(|place| texts[place % texts.len()])
            .collect();
        let parts = put(&marked).expect(&json).message;
        let expected = put(&literal).expect(&literal).message;
        assert_eq!(sent(&parts, &texts), sent(&expected, &[]), "{literal}");
    }
}

#[test]
fn numbers_that_stand_for_placeholders_by_chance_are_refused() {
    let mark = PLACEHOLDER_MARK;
    let json =
        format!(r#"{{"a": 1592590336, "c": "{mark}0{mark}", "inner": {{"a": "{mark}1{mark}"}}}}"#);
    let found = encode(&set(true), "shop.v1.Numbers/Put", &json, &[]);
    let Err(MessageFault::Message(why)) = found else {
        panic!("{found:?}");
    };
    assert!(
        why.contains("stands for placeholders here; write another one"),
        "{why}"
    );
}
