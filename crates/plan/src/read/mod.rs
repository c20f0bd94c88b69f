//! Turns text into a plan, or into all problems of the text at once. Raw and canonical text use the
//! same reader.
//!
//! Each section's reader asks its [`section::PlanSection`] for the keys that it knows, and reports
//! problems as it proceeds; a part is only `None` after something about it was reported. A campaign
//! reads the plan once per variant.

mod auth;
mod aws;
mod axis;
mod body;
mod body_transfer;
mod builtin;
mod campaign;
mod capture;
mod certificate;
mod columns;
mod connection;
mod context;
mod data;
mod data_place;
mod dependencies;
mod duplicates;
mod event_stream;
mod expect;
mod field;
mod file_source;
mod fleet;
mod found_problem;
mod grpc;
mod header;
mod identities;
mod journey;
mod journey_load;
mod json_text;
mod key_log;
mod known;
mod load;
mod made;
mod message_number;
mod message_shape;
mod method;
mod named_file;
mod node;
mod number_range;
mod oauth2;
mod overlay;
mod overload;
mod part_figure;
mod plan_names;
mod product;
mod redirect_origins;
mod repeat;
mod replay;
mod replayed;
mod request;
mod rows_end;
mod search;
mod section;
mod server_names;
mod shared_connections;
mod stages;
mod target;
mod target_url;
mod template;
mod threshold;
mod tls;
mod variables;
mod variant;
mod vars;
mod websocket;

pub(crate) use campaign::read as campaign;
pub(crate) use file_source::{Elsewhere, FileSource, Hashes, Names};
pub(crate) use known::{CAMPAIGN_KEYS, KEYS};

use crate::rows::RowTakers;
use crate::{
    Builtin, Close, Connection, End, Host, HttpVersion, Journey, Load, Plan, Problem, Problems,
    Replay, ReplayConnections, ReplayHandshakes, Request, RequestsPerConnection, Scheme, Settings,
    Shape, Target, Template, Tls, duration,
};
use context::Context;
use field::Field;
use load::{AmountSource, LoadContent};
use rows_end::RowUse;
use section::PlanSection;

const MAX_NAME_BYTES: usize = 64;
/// The ports of Linux's default range, divided by the seconds for which TIME_WAIT keeps one.
const TIME_WAIT_RATE: f64 = 28_232.0 / 60.0;

/// Reads a plan from its text.
pub(crate) fn plan(text: &str, source: &dyn FileSource) -> Result<Plan, Problems> {
    check_size(text)?;
    let context = Context::new(text, source, Settings::NONE, known::cure);
    let root = context.tree();
    let plan = match root.as_ref().map(|root| &root.value) {
        Some(node::NodeValue::Table(table)) => one(&context, table.clone(), AmountSource::Own),
        _ => None,
    };
    context.finish(plan)
}

/// Reads the plan of one table with its notes; problems go to `context`.
fn one(context: &Context<'_>, mut table: node::Table, amount: AmountSource<'_>) -> Option<Plan> {
    context.set_variables(vars::put_in(&mut table, context)?);
    capture::declare(context, &table);
    let plan = sections(PlanSection::new(context, String::new(), 0, &table), amount);
    let plan = plan.filter(|_| !context.has_problems())?;
    let bytes = plan.canonical_text().len();
    let most = Plan::MAX_CANONICAL_BYTES;
    if bytes > most {
        let message = format!(
            "the plan has {bytes} bytes with its defaults written out, and at most {most} travel; \
             put bodies into files"
        );
        context.problem("", None, message);
    }
    Some(Plan {
        notes: context.take_notes(),
        ..plan
    })
}

/// Returns `bytes` as text, if they are UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Problems> {
    std::str::from_utf8(bytes).map_err(|error| {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return alone("the plan is UTF-16; save it as UTF-8".to_owned());
        }
        let at = error.valid_up_to();
        alone(format!(
            "the plan is not UTF-8 at byte {at}; save it as UTF-8"
        ))
    })
}

fn check_size(text: &str) -> Result<(), Problems> {
    let bytes = text.len();
    let most = Plan::MAX_BYTES;
    if bytes <= most {
        return Ok(());
    }
    Err(alone(format!(
        "the plan has {bytes} bytes; write at most {most} (bodies can stand in files)"
    )))
}

/// A problem of the text as a whole.
fn alone(message: String) -> Problems {
    Problems(vec![Problem {
        path: String::new(),
        place: None,
        message,
    }])
}

fn sections(root: PlanSection<'_>, amount: AmountSource<'_>) -> Option<Plan> {
    declarations(&root);
    let name = root.read("name", name).unwrap_or_else(|| "plan".to_owned());
    let target = root.section("target").and_then(target::read);
    let connection = root.section("connection").and_then(connection::read);
    let context = tls::ConnectionContext::new(connection.as_ref());
    let replay = replay(&root, context.per_connection);
    let rest = request::RequestContext {
        url: target.as_ref().map(|target| &target.url),
        per_connection: context.per_connection,
        replay: replay.as_ref().map(Option::as_ref),
        close: connection.as_ref().map_or(Close::Fin, |it| it.close),
        http: context.http,
    };
    let mut requests = request::read(root.context, root.field("request"), rest);
    let mut journeys = journey::read(&root, requests.as_deref_mut(), rest);
    check_fields(&root, requests.as_deref().unwrap_or_default(), context.http);
    redirect_origins::check_use(&root, target.as_ref(), requests.as_deref());
    check_builtin(&root, target.as_ref(), connection.as_ref(), context.http);
    let tls = tls(&root, target.as_ref(), (context, rest.replay.flatten()));
    let own_tls = tls.as_ref().and_then(Option::as_ref);
    if let (Some(requests), Some(tls)) = (&requests, own_tls) {
        certificate::check_files(&root, requests, &tls.client_certificates);
    }
    let takers = requests.as_deref().map(|requests| RowTakers {
        requests,
        tls: own_tls,
        takes_always: replay.is_some() || root.has("journey"),
    });
    let load = load(&root, amount, takers, (rest.replay, journeys.as_deref()));
    if let (Some(journeys), Some(load)) = (&mut journeys, &load) {
        journey_load::weigh(journeys, load);
        shared_connections::note_at_once(root.context, journeys, load);
    }
    let fleet = root.section("fleet");
    let fleet = fleet.map(|section| fleet::read(section, load.as_ref(), own_tls));
    let thresholds = root
        .section("thresholds")
        .map(|section| threshold::read(&section, requests.as_deref(), journeys.as_deref()));
    refuse_sections_of_campaigns(&root);
    if let (Some(target), Some(connection), Some(load)) = (&target, &connection, &load) {
        let opened =
            connections_per_unit(connection, journeys.as_deref().unwrap_or_default(), load);
        note_connections(root.context, target, (connection, opened), load);
    }
    if let (Some(Some(tls)), Some(load)) = (&tls, &load) {
        check_validity(root.context, tls, load);
    }
    let (data, made) = (root.context.data().to_vec(), root.context.made().to_vec());
    let auth = root.context.auth().map(<[_]>::to_vec);
    note_unused(root.context, takers, context);
    root.finish();
    // Only now, so that one wrong section does not hide the problems of the others.
    Some(Plan {
        name,
        target: target?,
        data,
        made,
        replay: replay.map_or(Some(None), |replay| replay.map(Some))?,
        auth: auth?,
        requests: requests?,
        journeys: journeys?,
        connection: connection?,
        tls: tls?,
        load: load?,
        fleet: fleet?,
        thresholds: thresholds?,
        notes: Vec::new(),
    })
}

/// Reads the load, whose rows `takers` take; `replay` is that of the plan, if it has one.
fn load(
    root: &PlanSection<'_>,
    amount: AmountSource<'_>,
    takers: Option<RowTakers<'_>>,
    (replay, journeys): (Option<Option<&Replay>>, Option<&[Journey]>),
) -> Option<Load> {
    let unit = journey::unit(root);
    let rows = takers.map(|takers| RowUse {
        unit,
        data: root.context.data(),
        takers,
        is_searched: matches!(amount, AmountSource::Searched(_)),
    });
    let sharing = shared_connections::JourneySharing::new(journeys);
    let content = match replay {
        Some(replay) => LoadContent::Recorded(replay),
        None => LoadContent::Planned {
            unit,
            loads: journey_load::read(root, sharing),
            sharing,
        },
    };
    load::read(root.section("load")?, amount, rows, content)
}

/// Connections that are opened for each arrival once the load is steady: those that are kept are
/// not opened again.
fn connections_per_unit(connection: &Connection, journeys: &[Journey], load: &Load) -> f64 {
    let of_journeys = Journey::mean_of(journeys, load, Journey::new_connections).unwrap_or(0.0);
    match connection.requests {
        RequestsPerConnection::HandshakeOnly => 1.0,
        RequestsPerConnection::Limited(requests) => {
            let operations = Journey::mean_of(journeys, load, Journey::mean_steps).unwrap_or(1.0);
            of_journeys.max(operations / f64::from(requests.get()))
        }
        RequestsPerConnection::Unlimited => of_journeys,
    }
}

fn note_connections(
    context: &Context<'_>,
    target: &Target,
    (connection, per_unit): (&Connection, f64),
    load: &Load,
) {
    note_time_wait(context, target, (connection, per_unit), load);
    if connection.requests == RequestsPerConnection::HandshakeOnly {
        note_handshakes_alone(context, target);
    }
}

/// The log that is replayed, if any is; the inner `None` means wrong and reported.
#[expect(clippy::option_option, reason = "wrong and absent are two things here")]
fn replay(root: &PlanSection<'_>, per_connection: RequestsPerConnection) -> Option<Option<Replay>> {
    let field = root.field("replay")?;
    if per_connection == RequestsPerConnection::HandshakeOnly {
        let message = "has requests = 0, which sends none, and [replay] sends those of its log; \
                       remove one of them";
        root.problem_at("connection", message);
    }
    let replay = field.section().and_then(replay::read);
    let repeats = |replay: &Replay| replay.connections == ReplayConnections::Recorded;
    if matches!(per_connection, RequestsPerConnection::Limited(_))
        && replay.as_ref().is_some_and(repeats)
    {
        let message = "has requests, and with replay.connections = \"recorded\" the log says how \
                       many a connection carries; remove it";
        root.problem_at("connection", message);
    }
    Some(replay)
}

/// Reads what other texts may name.
fn declarations(root: &PlanSection<'_>) {
    if let Some(data) = data::read(root) {
        root.context.set_data(data);
    }
    if let Some(made) = made::read(root) {
        root.context.set_made(made);
    }
    if let Some(auth) = auth::read(root) {
        root.context.set_auth(auth);
    }
}

fn note_unused(
    context: &Context<'_>,
    takers: Option<RowTakers<'_>>,
    connection: tls::ConnectionContext,
) {
    if let Some(takers) = takers {
        data::note_unused(context, takers);
        made::note_unused(context, takers.requests);
        auth::note_unused(context, takers.requests);
        server_names::note_hosts(context, takers, connection.per_connection);
    }
}

fn check_builtin(
    root: &PlanSection<'_>,
    target: Option<&Target>,
    connection: Option<&Connection>,
    http: HttpVersion,
) {
    check_builtin_header(root, target, connection);
    let is_builtin = target.is_some_and(|target| target.builtin.is_some());
    if is_builtin && http != HttpVersion::Http11 {
        root.problem_at(
            "connection",
            "asks for HTTP/2, which the built-in target does not speak; write http = \"1.1\", or \
             name a target.url",
        );
    }
}

fn check_builtin_header(
    root: &PlanSection<'_>,
    target: Option<&Target>,
    connection: Option<&Connection>,
) {
    let is_builtin = target.is_some_and(|target| target.builtin.is_some());
    if is_builtin && connection.is_some_and(|connection| connection.proxy_protocol.is_some()) {
        root.problem_at(
            "connection",
            "has proxy_protocol, whose header the built-in target does not read; remove it, or \
             name a target.url",
        );
    }
}

fn note_handshakes_alone(context: &Context<'_>, target: &Target) {
    if target.url.scheme == Scheme::Http {
        context.note(
            "connection.requests = 0 with a plain http target measures TCP connects alone"
                .to_owned(),
        );
    }
    if target.builtin.as_ref().is_some_and(Builtin::waits) {
        context.note(
            "target.builtin.delay, stall and servers have no effect with connection.requests = 0: \
             nothing is asked for"
                .to_owned(),
        );
    }
}

/// Reports fields about the connection, which HTTP/2 forbids (RFC 9113 §8.2.2).
fn check_fields(root: &PlanSection<'_>, requests: &[Request], http: HttpVersion) {
    if http == HttpVersion::Http11 {
        if requests.iter().any(|request| request.grpc.is_some()) {
            let message = "speaks HTTP/1.1, and gRPC calls need HTTP/2; write http = \"2\"";
            root.problem_at("connection", message);
        }
        return;
    }
    let foreign = |name: &str| {
        ["keep-alive", "proxy-connection", "te"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    let found = requests
        .iter()
        .flat_map(|request| &request.headers)
        .find(|(name, value)| foreign(name) && !is_for_trailers(name, value.reveal()));
    if let Some((name, _)) = found {
        let message = format!(
            "has the header field {name:?}, which HTTP/2 forbids (RFC 9113 §8.2.2); remove it, or \
             write http = \"1.1\""
        );
        root.problem_at("request", message);
    }
}

/// Whether a field is the only `te` that HTTP/2 allows.
fn is_for_trailers(name: &str, value: &Template) -> bool {
    name.eq_ignore_ascii_case("te") && value.to_string() == "trailers"
}

/// Reads the name, which becomes part of a folder's name.
fn name(field: Field<'_>) -> Option<String> {
    let text = field.text("a name such as \"edge-handshakes\"")?;
    if is_fit(text, MAX_NAME_BYTES) {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = text
        .split(|c| !is_of_name(c))
        .filter(|word| !word.is_empty())
        .collect();
    let fit: String = words.join("-").chars().take(MAX_NAME_BYTES).collect();
    let fit = Some(fit.trim_matches(['-', '.', '_']))
        .filter(|fit| !fit.is_empty())
        .unwrap_or("plan");
    field.refuse(format_args!(
        "is not fit for the name of a folder; write letters, digits, \".\", \"_\" and \"-\", such \
         as {fit:?}"
    ));
    None
}

/// Whether `text` can be part of a folder's name.
fn is_fit(text: &str, max_bytes: usize) -> bool {
    text.len() <= max_bytes
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_of_name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// The outer `None` means wrong and reported, the inner one that no connection is encrypted.
#[expect(clippy::option_option, reason = "wrong and absent are two things here")]
fn tls(
    root: &PlanSection<'_>,
    target: Option<&Target>,
    (connection, replay): (tls::ConnectionContext, Option<&Replay>),
) -> Option<Option<Tls>> {
    let of_log = replay.filter(|replay| replay.handshakes == ReplayHandshakes::Recorded);
    if target.is_some_and(|target| !target.has_tls()) {
        if root.field("tls").is_some() {
            root.context
                .note("[tls] is ignored: the target is plain http".to_owned());
        }
        if of_log.is_some() {
            let message = "has handshakes = \"recorded\", and the target is plain http; write an \
                           https URL, or remove it";
            root.problem_at("replay", message);
        }
        return Some(None);
    }
    let section = root.section("tls")?;
    let brings_its_ca =
        target.is_some_and(|target| target.builtin.is_some() && target.url.port == 0);
    if brings_its_ca && section.has("ca") {
        section.problem_at(
            "ca",
            "given for the built-in target, which brings its own; remove it",
        );
    }
    tls::read(section, connection, of_log).map(Some)
}

/// Reports sections that turn a file into several plans; single plans are read without them.
fn refuse_sections_of_campaigns(root: &PlanSection<'_>) {
    for key in ["variants", "matrix", "repeat", "search"] {
        if let Some(field) = root.field(key) {
            field.problem(format_args!(
                "asks for several runs, and this is the plan of one; remove [{key}]"
            ));
        }
    }
}

/// Minted certificates must not expire during the run.
fn check_validity(context: &Context<'_>, tls: &Tls, load: &Load) {
    let (Some(minting), End::Duration(duration)) = (tls.client_certificates.minting(), load.end)
    else {
        return;
    };
    let firing = load.warm_up + duration;
    if minting.validity < firing {
        let firing = duration::write(firing);
        let message =
            format!("ends before the load does, after {firing}; write at least \"{firing}\"");
        context.problem("tls.client_certificates.validity", None, message);
    }
}

/// Notes if an open loop that closes its connections itself could run out of local ports: each
/// remains in TIME_WAIT for 60 s.
fn note_time_wait(
    context: &Context<'_>,
    target: &Target,
    (connection, per_unit): (&Connection, f64),
    load: &Load,
) {
    // Linux reuses TIME_WAIT ports on loopback (tcp_tw_reuse = 2,
    // Documentation/networking/ip-sysctl.rst).
    let is_local =
        matches!(&target.url.host, Host::Ip(ip) if ip.is_loopback()) && target.addresses.is_empty();
    let Shape::Open { rate, .. } = load.shape else {
        return;
    };
    let peak = load
        .stages
        .iter()
        .fold(rate.as_per_second(), |peak, stage| peak.max(stage.to))
        * per_unit;
    let pairs = target.addresses.len().max(1) * connection.source_addresses.len().max(1);
    if connection.close == Close::Fin && !is_local && peak > TIME_WAIT_RATE * pairs as f64 {
        context.note(time_wait_text(peak, pairs));
    }
}

fn time_wait_text(peak: f64, pairs: usize) -> String {
    let bound = (TIME_WAIT_RATE * pairs as f64).floor();
    format!(
        "connection.close = \"fin\" leaves each closed connection in TIME_WAIT here for 60 s: \
         28,232 ports last for about 470 new connections/s per source address and target address, \
         {bound}/s for one agent of this plan, which asks for {peak:.0}/s over all agents; use \
         agents on enough machines, more source_addresses, or close = \"server\" or \"rst\""
    )
}
