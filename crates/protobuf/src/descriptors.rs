//! Descriptor sets, and the methods in them.

use plan::MessageFault;
use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};

const CURE: &str = "make one with protoc --include_imports --descriptor_set_out=api.binpb \
                    api.proto, or with buf build -o api.binpb";

/// Most names that a message lists.
const LISTED: usize = 5;

/// The descriptors of a set.
pub(crate) fn pool(set: &[u8]) -> Result<DescriptorPool, MessageFault> {
    DescriptorPool::decode(set).map_err(|error| {
        let said = error.to_string();
        MessageFault::Descriptors(if said.contains("imported file") {
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
