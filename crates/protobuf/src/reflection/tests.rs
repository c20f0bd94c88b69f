use super::*;
use prost_reflect::prost_types::{FileDescriptorSet, ServiceDescriptorProto};

fn file(name: &str, imports: &[&str], services: &[&str]) -> FileDescriptorProto {
    let service = |name: &&str| ServiceDescriptorProto {
        name: Some((*name).to_owned()),
        ..ServiceDescriptorProto::default()
    };
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some("shop".to_owned()),
        dependency: imports.iter().map(|&import| import.to_owned()).collect(),
        service: services.iter().map(service).collect(),
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn answer(answer: ReflectionAnswer) -> ReflectionResponse {
    ReflectionResponse {
        answer: Some(answer),
    }
}

fn files(files: &[FileDescriptorProto]) -> ReflectionResponse {
    let files = files.iter().map(|file| file.encode_to_vec()).collect();
    answer(ReflectionAnswer::Files(FilesAnswer { files }))
}

fn services(names: &[&str]) -> ReflectionResponse {
    let service = |name: &&str| ServiceAnswer {
        name: (*name).to_owned(),
    };
    let services = names.iter().map(service).collect();
    answer(ReflectionAnswer::Services(ServicesAnswer { services }))
}

fn error() -> ReflectionResponse {
    answer(ReflectionAnswer::Error(ErrorAnswer {
        code: 5,
        message: "not found".to_owned(),
    }))
}

/// Asks a server that has these files, and tells each alone.
fn ask(services: &[String], has: &[FileDescriptorProto]) -> Result<ReflectedSet, String> {
    let mut reflection = Reflection::new(services);
    let mut asked = 0;
    while let Some(request) = reflection.next_request() {
        asked += 1;
        assert!(asked < 100, "asks the same again");
        let found = match request.question.unwrap() {
            ReflectionQuestion::ListServices(_) => {
                reflection.take(self::services(&["shop.Carts", "grpc.reflection.v1.X"]))?;
                continue;
            }
            ReflectionQuestion::FileByFilename(name) => {
                has.iter().find(|file| file.name() == name).cloned()
            }
            ReflectionQuestion::FileContainingSymbol(name) => has
                .iter()
                .find(|file| file.service.iter().any(|it| name.ends_with(it.name())))
                .cloned(),
        };
        reflection.take(found.map_or_else(error, |found| files(&[found])))?;
    }
    reflection.finish()
}

#[test]
fn set_has_every_import_once_and_before_what_imports_it() {
    let time = "google/protobuf/timestamp.proto";
    let has = [
        file("a.proto", &["c.proto", "b.proto", time], &["Carts"]),
        file("b.proto", &["c.proto"], &[]),
        file("c.proto", &[], &[]),
    ];
    // The server does not have the file that comes with compilers.
    let set = ask(&[], &has).unwrap();
    assert_eq!(set.files, 4);
    assert_eq!(set.services, [("shop.Carts".to_owned(), vec![])]);
    let decoded = FileDescriptorSet::decode(&set.bytes[..]).unwrap();
    let names: Vec<&str> = decoded.file.iter().map(|file| file.name()).collect();
    assert_eq!(names, ["c.proto", "b.proto", time, "a.proto"]);
    let call = crate::encode(&set.bytes, "shop.Carts/Add", "{}", &[]).unwrap_err();
    assert!(matches!(call, plan::MessageFault::Method(_)), "{call:?}");
}

#[test]
fn wanted_services_are_asked_for_alone() {
    let has = [file("a.proto", &[], &["Carts", "Stock"])];
    let set = ask(&["shop.Stock".to_owned()], &has).unwrap();
    assert_eq!(set.services, [("shop.Stock".to_owned(), vec![])]);
    let said = ask(&["shop.Till".to_owned()], &has).unwrap_err();
    assert_eq!(
        said,
        "has no descriptors of \"shop.Till\": not found (code 5)"
    );
}

#[test]
fn broken_answers_are_refused() {
    let carts = ["shop.Carts".to_owned()];
    let missing = [file("a.proto", &["x.proto"], &["Carts"])];
    let circle = [
        file("a.proto", &["b.proto"], &["Carts"]),
        file("b.proto", &["a.proto"], &[]),
    ];
    for (has, expected) in [
        (
            &missing[..],
            "does not have the file \"x.proto\", which others import: not found",
        ),
        (&circle, "has a file \"a.proto\" that imports itself"),
        (
            &[file("", &[], &["Carts"])],
            "sent a file for \"shop.Carts\" that has no name",
        ),
    ] {
        let said = ask(&carts, has).unwrap_err();
        assert!(said.starts_with(expected), "{said}");
    }
    let first = |response: ReflectionResponse| {
        let mut reflection = Reflection::new(&carts);
        let taken = reflection.take(response);
        taken
            .and_then(|()| reflection.finish().map(|_| ()))
            .unwrap_err()
    };
    let other = "answers something else than what was asked";
    assert_eq!(first(services(&["a"])), other);
    assert_eq!(first(files(&[])), other);
    assert_eq!(first(ReflectionResponse::default()), other);
    let garbage = ReflectionAnswer::Files(FilesAnswer {
        files: vec![vec![0xff; 9]],
    });
    let said = first(answer(garbage));
    assert!(
        said.contains("that is no descriptor (failed to decode"),
        "{said}"
    );
    let stranger = first(files(&[file("a.proto", &[], &["Stock"])]));
    assert_eq!(stranger, "sent no file with \"shop.Carts\"");
    let mut none = Reflection::new(&[]);
    let said = none.take(services(&["grpc.reflection.v1alpha.ServerReflection"]));
    assert_eq!(
        said.unwrap_err(),
        "has no services but those that describe it"
    );
}

#[test]
fn set_has_a_bound() {
    let refused = |file: FileDescriptorProto| {
        let mut reflection = Reflection::new(&["shop.Carts".to_owned()]);
        reflection.take(files(&[file])).unwrap_err()
    };
    let mut large = file("a.proto", &[], &[]);
    large.package = Some("x".repeat(MAX_BYTES));
    let mut many = file("a.proto", &[], &[]);
    many.dependency = (0..MAX_FILES).map(|nth| nth.to_string()).collect();
    for said in [refused(large), refused(many)] {
        assert!(
            said.contains("a set has at most 16 MiB and 10000 files"),
            "{said}"
        );
    }
}

#[test]
fn order_takes_no_longer_than_there_are_imports() {
    // Each file imports all that follow it: two million imports, and as deep as there are files.
    let names: Vec<String> = (0..2000).map(|nth| format!("{nth:04}")).collect();
    let reflected = |nth: usize| ReflectedFile {
        imports: names[nth + 1..].to_vec(),
        bytes: vec![],
    };
    let files: BTreeMap<String, ReflectedFile> = names
        .iter()
        .enumerate()
        .map(|(nth, name)| (name.clone(), reflected(nth)))
        .collect();
    let imports: Vec<usize> = in_order(&files)
        .unwrap()
        .iter()
        .map(|it| it.imports.len())
        .collect();
    assert!(imports.into_iter().eq(0..2000));
}
