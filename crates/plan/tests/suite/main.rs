//! Tests of the crate through its public interface.

mod auth;
mod bodies;
mod campaigns;
mod canonical;
mod data_files;
mod documents;
mod grpc;
mod journey_loads;
mod journeys;
mod losses;
mod made_values;
mod messages;
mod mix;
mod properties;
mod replay;
mod secrets;
mod server_names;
mod support;
mod unsent_data;
mod variables;
