//! The plan: what to do. Takes raw TOML and returns a [`Plan`] that cannot be wrong (or a
//! [`Campaign`] of several), or every problem at once. Pure: no clock, no network, no file system;
//! files that a plan names are read through [`Files`].

mod auth;
mod aws_credentials;
mod body_transfer;
mod calibration;
mod campaign;
mod canonical;
mod canonical_target;
mod capture;
mod capturer;
mod cipher_suite;
mod client_certificates;
mod connection;
mod data_file;
mod deal;
mod demand;
mod duration;
mod event_stream;
mod expect;
mod file;
mod files;
mod fleet_plan;
mod generator;
mod group;
mod grpc;
mod html_element;
mod journey;
mod key_log;
mod load;
mod load_amount;
mod marked_arrivals;
mod mask;
mod merged_arrivals;
mod message_shape;
mod minted;
mod mix;
mod multipart;
mod nearest;
mod owner;
mod parse;
mod path;
mod pattern;
mod piece;
mod plan;
mod portion;
mod problem;
mod profile;
mod proxy_protocol;
mod random;
mod rate;
mod read;
mod recorded_handshakes;
mod repeat;
mod replay;
mod request;
mod rows;
mod schedule;
mod search;
mod seats;
mod secret_texts;
mod settings;
mod share;
mod shown_plan;
mod signature;
mod signature_scheme;
mod status_set;
mod subject;
mod target;
mod template;
mod threshold;
mod threshold_metric;
mod time_format;
mod tls;
mod token_request;
mod toml_text;
mod url;
mod user_operations;
mod virtual_users;
mod websocket;
mod wire_number;
mod words;

pub use auth::{Auth, AuthScheme};
pub use aws_credentials::AwsCredentials;
pub use body_transfer::BodyTransfer;
pub use calibration::{
    CalibratedWork, Calibration, CalibrationError, CalibrationRow, Expense, Fingerprint,
};
pub use campaign::{Campaign, Variant};
pub use capture::{Capture, CapturePick, CapturePlace, CapturePlaceholder, MissingCapture};
pub use capturer::{Capturer, CapturerMemory};
pub use cipher_suite::CipherSuiteError;
pub use client_certificates::{ClientCertificate, ClientCertificates, Minting};
pub use connection::{Close, Connection, HttpVersion, RequestsPerConnection, Timeouts};
pub use data::{MapError, MappedFile, read_held};
pub use data_file::{AtEnd, DataColumn, DataFile, DataPlace, RowOrder};
pub use deal::Deal;
pub use demand::Demand;
pub use duration::{parse as parse_duration, write as duration_text};
pub use event_stream::{EventFormat, EventStream};
pub use expect::{Check, CheckPlace, Expect, ValueTest};
pub use file::{File, PrivateFile, Sha256, Sha256Error};
pub use files::{Files, MappedFiles, NoFiles};
pub use fleet_plan::{FleetPlan, LostAgents, Tolerance, ToleranceError};
pub use generator::{Generator, Instance, NumberRange};
pub use group::GroupError;
pub use grpc::{EncodedCall, Grpc, MessageEncoder, MessageFault, MessagePart, PLACEHOLDER_MARK};
pub use html_element::{HtmlCondition, HtmlElement, HtmlElementError, HtmlTest};
pub use journey::{
    Journey, JourneyConnection, JourneyCookies, JourneyPart, JourneyWay, Pause, StepTurns, WorkUnit,
};
pub use key_log::KeyLog;
pub use load::{Arrivals, End, JourneyLoad, Load, Shape, Stage, ThinkTime};
pub use marked_arrivals::MarkedArrivals;
pub use mask::{MASK, mask_secrets};
pub use merged_arrivals::{MergedArrival, MergedArrivals};
pub use message_shape::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField};
pub use minted::{Minted, MintedError, MintedIdentity};
pub use mix::Mix;
pub use multipart::{BodyPart, Multipart, PartContent};
pub use owner::Owner;
pub use pattern::{Pattern, PatternError, PatternState};
pub use piece::{
    Composition, Digest, Encoding, HashFunction, MadePlaceholder, MadeSource, MadeValue, Piece,
    SigningKey, Template,
};
pub use plan::Plan;
pub use portion::Portion;
pub use problem::{Problem, Problems};
pub use profile::Profile;
pub use proxy_protocol::{ClientNetwork, ClientNetworkError, ProxyProtocol, ProxyVersion};
pub use rate::{Rate, RateError};
pub use recorded_handshakes::{
    HandshakeFacts, RecordedHandshake, RecordedHandshakes, RecordedName,
};
pub use repeat::{Repeat, Run};
pub use replay::{RecordedArrivals, Replay, ReplayConnections, ReplayHandshakes, ReplayStatus};
pub use request::{Body, Request, SECRET_HEADERS};
pub use rows::{RowSource, RowSources};
pub use schedule::{Bookmark, Instants, Schedule};
pub use search::{Capacity, Search, SearchRange};
pub use seats::Seats;
pub use secret_texts::{SecretTexts, SentSecret};
pub use settings::Settings;
pub use share::Share;
pub use signature_scheme::SignatureSchemeError;
pub use status_set::StatusSet;
pub use subject::{Subject, SubjectAttribute, SubjectError};
pub use target::{
    Address, Builtin, BuiltinKey, BuiltinPace, Destination, Dns, Host, RedirectOrigin, Scheme,
    Target, Url,
};
pub use threshold::{Limit, Relation, Statistic, Threshold, ThresholdMetric, ThresholdScope};
pub use threshold_metric::{
    GroupFigure, JourneyNumber, JourneyTime, NumberName, ThresholdMetricError,
};
pub use time_format::{TimeFormat, TimeFormatError};
pub use tls::{
    CipherSuite, Group, KeyExchange, KeyShare, Resumption, ResumptionKind, ServerNames,
    SignatureScheme, Tls, TlsVersion, Verify,
};
pub use token_request::{ClientAuth, TokenHolder, TokenRequest};
pub use toml_text::quote;
pub use url::UrlError;
pub use user_operations::UserOperations;
pub use virtual_users::VirtualUsers;
pub use websocket::{MessageAnswer, SocketEnd, WebSocket};
pub use wire_number::put_varint;
pub use words::Words;

/// Version of the language of canonical texts. Coordinator and agent compare it when the agent
/// joins, since a text that they understand differently is worse than none. Raise it when the
/// canonical text changes: when a key is added, removed, or changes its meaning.
pub const LANGUAGE: u32 = 12;
