//! Descriptor sets, and the methods in them.

use plan::MessageFault;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
use std::panic::{self, AssertUnwindSafe};

const CURE: &str = "make one with protoc --include_imports --descriptor_set_out=api.binpb \
                    api.proto, or with buf build -o api.binpb";

const SYNTAXES: [&str; 2] = ["proto2", "proto3"];

/// Most names that a message lists.
const LISTED: usize = 5;

/// The files of a set, put together. The error says why they cannot be.
pub(crate) fn put_together(set: &[u8]) -> Result<DescriptorPool, String> {
    let files = FileDescriptorSet::decode(set).map_err(|error| error.to_string())?;
    for file in &files.file {
        // Those of editions, which protoc makes too, are not known to the pool.
        if let Some(syntax) = &file.syntax
            && !SYNTAXES.contains(&syntax.as_str())
        {
            return Err(format!(
                "{} has the syntax {syntax:?}, and only proto2 and proto3 are read",
                file.name()
            ));
        }
    }
    let pool = guarded(|| DescriptorPool::from_file_descriptor_set(files))?;
    pool.map_err(|error| error.to_string())
}

/// Does what panics if descriptors contradict themselves: sets are foreign bytes, and the library
/// takes a compiler's for granted.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.map_err(|_| "its descriptors contradict themselves".to_owned())
}

/// The descriptors of a set.
pub(crate) fn pool(set: &[u8]) -> Result<DescriptorPool, MessageFault> {
    put_together(set).map_err(|said| {
        MessageFault::Descriptors(if said.contains("the syntax") {
            format!("cannot be used: {said}; describe the service in one of those")
        } else if said.contains("imported file") {
            format!("lacks files that its own import ({said}); {CURE}")
        } else {
            format!("is no descriptor set ({said}); {CURE}")
        })
    })
}

/// The method of this name, which takes one message.
pub(crate) fn method(
    pool: &DescriptorPool,
    method: &str,
) -> Result<MethodDescriptor, MessageFault> {
    let wrong = |why: String| Err(MessageFault::Method(why));
    let (service, name) = method.split_once('/').unwrap_or((method, ""));
    let Some(service) = pool.get_service_by_name(service) else {
        return wrong(no_service(pool, service));
    };
    let Some(found) = service.methods().find(|method| method.name() == name) else {
        return wrong(no_method(&service, name));
    };
    if !found.is_client_streaming() {
        return Ok(found);
    }
    wrong(
        "takes a stream of messages, and only calls with one message can be made; name another \
         method"
            .to_owned(),
    )
}

fn no_service(pool: &DescriptorPool, service: &str) -> String {
    let names: Vec<String> = pool
        .services()
        .map(|service| service.full_name().to_owned())
        .collect();
    match nearest(service, names.iter().map(String::as_str)) {
        Some(near) => format!(
            "the descriptors have no service {service}; write {near}{}",
            others(&names, near)
        ),
        None => format!("the descriptors have no service at all; {CURE}"),
    }
}

fn no_method(service: &ServiceDescriptor, name: &str) -> String {
    let names: Vec<String> = service
        .methods()
        .map(|method| method.name().to_owned())
        .collect();
    let full_name = service.full_name();
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!(
            "{full_name} has no method {name:?}; write {full_name}/{near}{}",
            others(&names, near)
        ),
        None => format!("{full_name} has no methods; name another service"),
    }
}

/// The other names that there are, at most [`LISTED`].
fn others(names: &[String], nearest: &str) -> String {
    let others: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != nearest)
        .collect();
    let more = if others.len() > LISTED { ", …" } else { "" };
    let listed = others[..others.len().min(LISTED)].join(", ");
    if listed.is_empty() {
        String::new()
    } else {
        format!(" (there are also {listed}{more})")
    }
}

/// The name that is most like `wanted`; `None` if there are none.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A long text would cost much.
    let wanted: String = wanted.to_ascii_lowercase().chars().take(100).collect();
    names.min_by_key(|name| strsim::damerau_levenshtein(&name.to_ascii_lowercase(), &wanted))
}
