//! What a server says of itself by gRPC's reflection, put together as a descriptor set. Knows
//! nothing of the network: it says what to ask next, and takes the answers.
//!
//! Source: `grpc/reflection/v1/reflection.proto` of the gRPC project. Its version `v1alpha` has the
//! same messages.

use crate::descriptors::{guarded, put_together};
use prost::{DecodeError, Message, Oneof};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most bytes of a set: what a plan accepts.
const MAX_BYTES: usize = 16 << 20;
/// Most files of a set.
const MAX_FILES: usize = 10_000;
/// Services by which servers describe themselves, which plans do not call.
const OWN_SERVICES: &str = "grpc.reflection.";
/// Field 1 of a `FileDescriptorSet`, with bytes.
const FILE_TAG: u8 = 1 << 3 | 2;

/// A question to the server.
#[derive(Clone, PartialEq, Message)]
pub struct ReflectionRequest {
    #[prost(oneof = "ReflectionQuestion", tags = "3, 4, 7")]
    question: Option<ReflectionQuestion>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
enum ReflectionQuestion {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// The server's answer.
#[derive(Clone, PartialEq, Message)]
pub struct ReflectionResponse {
    #[prost(oneof = "ReflectionAnswer", tags = "4, 6, 7")]
    answer: Option<ReflectionAnswer>,
}

#[derive(Clone, PartialEq, Oneof)]
enum ReflectionAnswer {
    #[prost(message, tag = "4")]
    Files(FilesAnswer),
    #[prost(message, tag = "6")]
    Services(ServicesAnswer),
    #[prost(message, tag = "7")]
    Error(ErrorAnswer),
}

#[derive(Clone, PartialEq, Message)]
struct FilesAnswer {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct ServicesAnswer {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceAnswer>,
}

#[derive(Clone, PartialEq, Message)]
struct ServiceAnswer {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorAnswer {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Asks a server for the files of its services, and of what they import.
#[derive(Debug)]
pub struct Reflection {
    /// The services that are wanted; empty for all that the server lists.
    services: Vec<String>,
    questions: VecDeque<ReflectionQuestion>,
    files: BTreeMap<String, ReflectedFile>,
    /// Names of the files that are here or asked for.
    known: BTreeSet<String>,
    bytes: usize,
}

#[derive(Debug)]
struct ReflectedFile {
    imports: Vec<String>,
    /// As the server sent it, with options that only it knows.
    bytes: Vec<u8>,
}

/// A descriptor set, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectedSet {
    /// A `FileDescriptorSet`; each file stands behind those that it imports.
    pub bytes: Vec<u8>,
    /// How many files it has.
    pub files: usize,
    /// The names of its services and their methods, in order.
    pub services: Vec<(String, Vec<String>)>,
}

impl Reflection {
    /// Asks for these services; for all that the server has if there are none.
    #[must_use]
    pub fn new(services: &[String]) -> Reflection {
        let symbol = |name: &String| ReflectionQuestion::FileContainingSymbol(name.clone());
        let questions = match services {
            [] => VecDeque::from([ReflectionQuestion::ListServices("*".to_owned())]),
            services => services.iter().map(symbol).collect(),
        };
        Reflection {
            services: services.to_vec(),
            questions,
            files: BTreeMap::new(),
            known: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// The next question; `None` if all is known.
    #[must_use]
    pub fn next_request(&self) -> Option<ReflectionRequest> {
        let question = self.questions.front()?.clone();
        Some(ReflectionRequest {
            question: Some(question),
        })
    }

    /// Takes the answer to the latest question.
    ///
    /// # Errors
    /// The server does not know what was asked, or its answer is wrong or too large.
    pub fn take(&mut self, response: ReflectionResponse) -> Result<(), String> {
        let question = self.questions.pop_front();
        match (question, response.answer) {
            (Some(question), Some(ReflectionAnswer::Error(error))) => {
                self.refused(question, &error)
            }
            (
                Some(ReflectionQuestion::ListServices(_)),
                Some(ReflectionAnswer::Services(answer)),
            ) => self.list(answer),
            (
                Some(
                    ReflectionQuestion::FileByFilename(name)
                    | ReflectionQuestion::FileContainingSymbol(name),
                ),
                Some(ReflectionAnswer::Files(answer)),
            ) if !answer.files.is_empty() => answer
                .files
                .into_iter()
                .try_for_each(|file| self.add(file))
                .map_err(|why| format!("sent a file for {name:?} that {why}")),
            _ => Err("answers something else than what was asked".to_owned()),
        }
    }

    fn list(&mut self, answer: ServicesAnswer) -> Result<(), String> {
        let names = answer.services.into_iter().map(|service| service.name);
        self.services = names
            .filter(|name| !name.starts_with(OWN_SERVICES))
            .collect();
        self.services.sort();
        self.services.dedup();
        if self.services.is_empty() {
            return Err("has no services but those that describe it".to_owned());
        }
        let names = self.services.iter().cloned();
        self.questions = names
            .map(ReflectionQuestion::FileContainingSymbol)
            .collect();
        Ok(())
    }

    fn refused(&mut self, question: ReflectionQuestion, error: &ErrorAnswer) -> Result<(), String> {
        let what = match question {
            ReflectionQuestion::ListServices(_) => "does not list its services".to_owned(),
            ReflectionQuestion::FileContainingSymbol(name) => {
                format!("has no descriptors of {name:?}")
            }
            ReflectionQuestion::FileByFilename(name) => {
                // Many servers leave out the files that come with every compiler.
                if let Some(file) = DescriptorPool::global().get_file_by_name(&name) {
                    return self.add(file.encode_to_vec());
                }
                format!("does not have the file {name:?}, which others import")
            }
        };
        Err(format!("{what}: {} (code {})", error.message, error.code))
    }

    /// Adds a file, and asks for what it imports. The error follows on the name of the file.
    fn add(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let not_a_file = |error: DecodeError| format!("is no descriptor ({error})");
        let file = FileDescriptorProto::decode(&bytes[..]).map_err(not_a_file)?;
        let name = file.name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| "has no name".to_owned())?;
        if self.files.contains_key(&name) {
            return Ok(());
        }
        self.bytes += bytes.len();
        if !self.known.insert(name.clone()) {
            let question = ReflectionQuestion::FileByFilename(name.clone());
            self.questions.retain(|other| *other != question);
        }
        for import in &file.dependency {
            if self.known.insert(import.clone()) {
                let question = ReflectionQuestion::FileByFilename(import.clone());
                self.questions.push_back(question);
            }
        }
        if self.bytes > MAX_BYTES || self.known.len() > MAX_FILES {
            return Err(format!(
                "is one too many: a set has at most {} MiB and {MAX_FILES} files; name the \
                 services that are called by --services",
                MAX_BYTES >> 20
            ));
        }
        let imports = file.dependency;
        self.files.insert(name, ReflectedFile { imports, bytes });
        Ok(())
    }

    /// The set, once there is nothing left to ask.
    ///
    /// # Errors
    /// The files do not fit together, or a service is not in them.
    pub fn finish(self) -> Result<ReflectedSet, String> {
        let mut bytes = Vec::with_capacity(self.bytes + 8 * self.files.len());
        for file in in_order(&self.files)? {
            bytes.push(FILE_TAG);
            prost::encode_length_delimiter(file.bytes.len(), &mut bytes)
                .map_err(|error| error.to_string())?;
            bytes.extend_from_slice(&file.bytes);
        }
        let pool = put_together(&bytes)
            .map_err(|error| format!("sent files that do not fit together: {error}"))?;
        let services = self.services.into_iter().map(|name| {
            let service = pool.get_service_by_name(&name);
            let service = service.ok_or_else(|| format!("sent no file with {name:?}"))?;
            let methods = service.methods().map(|method| method.name().to_owned());
            let methods = guarded(|| methods.collect())?;
            Ok((name, methods))
        });
        Ok(ReflectedSet {
            services: services.collect::<Result<_, String>>()?,
            files: self.files.len(),
            bytes,
        })
    }
}

/// The files, each behind those that it imports.
fn in_order(files: &BTreeMap<String, ReflectedFile>) -> Result<Vec<&ReflectedFile>, String> {
    let mut ordered = Vec::with_capacity(files.len());
    // Whether a file stands in the order, or waits for its imports.
    let mut is_placed: BTreeMap<&str, bool> = BTreeMap::new();
    for (name, file) in files {
        if is_placed.contains_key(name.as_str()) {
            continue;
        }
        is_placed.insert(name, false);
        // Files that wait, with how many of their imports have been looked at.
        let mut waiting = vec![(name, file, 0)];
        while let Some((name, file, looked_at)) = waiting.last_mut() {
            let Some(import) = file.imports.get(*looked_at) else {
                is_placed.insert(name, true);
                ordered.push(*file);
                waiting.pop();
                continue;
            };
            *looked_at += 1;
            match (is_placed.get(import.as_str()), files.get_key_value(import)) {
                (Some(true), _) => {}
                (Some(false), _) => {
                    return Err(format!("has a file {import:?} that imports itself"));
                }
                (None, Some((import, imported))) => {
                    is_placed.insert(import, false);
                    waiting.push((import, imported, 0));
                }
                (None, None) => {
                    return Err(format!("did not send {import:?}, which others import"));
                }
            }
        }
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests;
