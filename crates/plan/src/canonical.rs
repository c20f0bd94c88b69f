//! A plan as text with every default written out: one text per plan, however it was written.

use crate::toml_text::array;
use crate::{
    Auth, AuthScheme, AwsCredentials, Body, BodyPart, Builtin, BuiltinPace, ClientCertificates,
    Composition, Connection, DataFile, Digest, Dns, End, File, FleetPlan, Generator, HttpVersion,
    Journey, JourneyLoad, Load, MadeSource, MadeValue, PartContent, Plan, RedirectOrigin, Replay,
    ReplayConnections, ReplayHandshakes, Request, RequestsPerConnection, Resumption, ServerNames,
    Sha256, Shape, Target, Template, Threshold, Tls, TokenHolder, TokenRequest, Words, WorkUnit,
    data_file, duration, mask, quote,
};
use data::DataFormat;
use secret::Secret;
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

impl Plan {
    /// The plan with every default written out and files by hash.
    #[must_use]
    pub fn canonical_text(&self) -> String {
        text(self)
    }

    /// The canonical text with [`crate::MASK`] for the values of secret headers and variables, for
    /// everything that is kept or shown. The digest is not computed from this text.
    #[must_use]
    pub fn masked_text(&self) -> String {
        mask::mask_secrets(&self.canonical_text())
    }

    /// SHA-256 of the canonical text.
    #[must_use]
    pub fn digest(&self) -> Sha256 {
        Sha256::hash(self.canonical_text().as_bytes())
    }
}

/// Returns the canonical text of `plan`. Every change here changes every digest.
fn text(plan: &Plan) -> String {
    let mut out = TomlText(String::new());
    out.field("name", quote(&plan.name));
    target(&mut out, &plan.target);
    for each in &plan.data {
        data_file(&mut out, each);
    }
    made_values(&mut out, &plan.made);
    for each in &plan.auth {
        auth(&mut out, each);
    }
    if let Some(each) = &plan.replay {
        replay(&mut out, each);
    }
    for each in &plan.requests {
        match plan.replay {
            Some(_) => replayed_request(&mut out, each),
            None => request(&mut out, each, plan.connection.requests),
        }
    }
    for (place, each) in plan.journeys.iter().enumerate() {
        journey(&mut out, each, plan, plan.load.journeys.get(place));
    }
    connection(&mut out, &plan.connection);
    if let Some(each) = &plan.tls {
        tls(&mut out, each);
    }
    load(&mut out, &plan.load, plan.unit());
    fleet(&mut out, &plan.fleet);
    thresholds(&mut out, &plan.thresholds);
    secrets(&mut out, plan);
    out.0
}

/// TOML text under construction.
struct TomlText(String);

impl TomlText {
    fn table(&mut self, header: &str) {
        self.line(format_args!("\n{header}"));
    }

    fn field(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }
}

fn target(out: &mut TomlText, target: &Target) {
    out.table("[target]");
    if let Some(it) = &target.builtin {
        return out.field("builtin", builtin(it, target));
    }
    out.field("url", quote(&target.url.to_string()));
    out.field(
        "addresses",
        array(&target.addresses, |address| quote(&address.to_string())),
    );
    let dns = match target.dns {
        Dns::Once => quote(Dns::ONCE_WORD),
        Dns::EveryConnection => quote(Dns::EVERY_CONNECTION_WORD),
        Dns::Every(interval) => time(interval),
    };
    out.field("dns", dns);
    if !target.redirects_to.is_empty() {
        out.field("redirects_to", array(&target.redirects_to, origin));
    }
}

fn origin(origin: &RedirectOrigin) -> String {
    let url = quote(&origin.url.origin());
    let addresses = array(&origin.addresses, |address| quote(&address.to_string()));
    format!("{{ url = {url}, addresses = {addresses} }}")
}

fn builtin(builtin: &Builtin, target: &Target) -> String {
    let at = if target.url.port == 0 {
        String::new()
    } else {
        format!(", at = {}", quote(&target.url.to_string()))
    };
    let tls = builtin.tls;
    let key = word(builtin.key);
    let body_bytes = builtin.body_bytes;
    let delay = time(builtin.delay);
    let pace = pace(builtin.pace);
    format!("{{ tls = {tls}, key = {key}, body_bytes = {body_bytes}, delay = {delay}{pace}{at} }}")
}

fn pace(pace: BuiltinPace) -> String {
    match pace {
        BuiltinPace::AtOnce => String::new(),
        BuiltinPace::Stall {
            every,
            lasts,
            first,
        } => {
            format!(
                ", stall = {{ every = {}, for = {}, first = {} }}",
                time(every),
                time(lasts),
                time(first)
            )
        }
        BuiltinPace::Servers {
            count,
            service_time,
        } => {
            format!(
                ", servers = {{ count = {count}, service_time = {} }}",
                time(service_time)
            )
        }
    }
}

fn data_file(out: &mut TomlText, data: &DataFile) {
    out.table(&format!("[data.{}]", data.name));
    out.field("file", file(&data.file));
    if !data.place.is_sent() {
        out.field("send", false);
    }
    out.field("format", quote(data_file::word(data.layout.format)));
    if data.layout.format == DataFormat::Csv {
        let delimiter = char::from(data.layout.delimiter);
        out.field("delimiter", quote(&delimiter.to_string()));
    }
    if matches!(data.layout.format, DataFormat::Csv | DataFormat::Tsv) {
        out.field("header", data.layout.header);
    }
    out.field("columns", array(data.table.columns(), |name| quote(name)));
    out.field("rows", data.table.rows());
    out.field("order", word(data.order));
    out.field("at_end", word(data.at_end));
    if !data.secret.is_empty() {
        out.field("secret", array(&data.secret, |name| quote(name)));
    }
}

fn made_values(out: &mut TomlText, made: &[Arc<MadeValue>]) {
    if !made.is_empty() {
        out.table("[let]");
    }
    for value in made {
        out.field(
            &value.name,
            match &value.source {
                MadeSource::Generated(generator) => generator_table(generator),
                MadeSource::Composed(composition) => composition_table(composition),
            },
        );
    }
}

fn generator_table(generator: &Generator) -> String {
    match generator {
        Generator::Uuid => quote("uuid"),
        Generator::Counter { first, step } => format!("{{ counter = {first}, step = {step} }}"),
        Generator::Timestamp(format) => format!("{{ timestamp = {} }}", quote(format.pattern())),
        Generator::Number(range) => {
            let [low, high] = range.ends();
            let decimals = range.decimals;
            format!("{{ random = [{low}, {high}], decimals = {decimals} }}")
        }
        Generator::Characters { alphabet, length } => {
            let alphabet: String = alphabet.iter().collect();
            format!("{{ random = {length}, alphabet = {} }}", quote(&alphabet))
        }
        Generator::OneOf(texts) => {
            format!("{{ one_of = {} }}", array(texts, |text| quote(text)))
        }
    }
}

fn composition_table(composition: &Composition) -> String {
    let of = quote(&composition.of.to_string());
    let encoding = word(composition.encoding);
    match &composition.digest {
        Digest::None => format!("{{ encode = {encoding}, of = {of} }}"),
        Digest::Hash(hash) => {
            let hash = word(*hash);
            format!("{{ digest = {hash}, of = {of}, as = {encoding} }}")
        }
        // No text of a plan has one.
        Digest::Signature(_) => String::new(),
        Digest::Hmac { hash, key } => {
            let (hash, key) = (word(*hash), quote(&key.to_string()));
            format!("{{ hmac = {hash}, key = {key}, of = {of}, as = {encoding} }}")
        }
    }
}

fn auth(out: &mut TomlText, auth: &Auth) {
    out.table(&format!("[auth.{}]", auth.name));
    let text = |template: &Template| quote(&template.to_string());
    match &auth.scheme {
        AuthScheme::Basic { user, password } => {
            let (user, password) = (text(user), text(password.reveal()));
            let basic = format!("{{ user = {user}, password = {password} }}");
            out.field("basic", basic);
        }
        AuthScheme::Bearer(token) => out.field("bearer", text(token.reveal())),
        AuthScheme::Aws(aws) => out.field("aws", aws_table(aws)),
        AuthScheme::OAuth2(request) => out.field("oauth2", oauth2(request)),
    }
}

fn aws_table(aws: &AwsCredentials) -> String {
    let text = |template: &Secret<Template>| quote(&template.reveal().to_string());
    let (region, service) = (quote(&aws.region), quote(&aws.service));
    let (access_key, secret_key) = (text(&aws.access_key), text(&aws.secret_key));
    let session = aws.session_token.as_ref();
    let session = session.map_or_else(String::new, |token| {
        format!(", session_token = {}", text(token))
    });
    format!(
        "{{ region = {region}, service = {service}, access_key = {access_key}, secret_key = \
         {secret_key}{session} }}"
    )
}

fn oauth2(request: &TokenRequest) -> String {
    let text = |template: &Template| quote(&template.to_string());
    let url = quote(&request.token_url.to_string());
    let (client, secret) = (text(&request.client), text(request.secret.reveal()));
    let client_auth = word(request.client_auth);
    let scope = request.scope.as_ref();
    let scope = scope.map_or_else(String::new, |scope| format!(", scope = {}", quote(scope)));
    let per = match request.per {
        TokenHolder::Agent => String::new(),
        TokenHolder::Fleet => format!(", per = {}", word(request.per)),
    };
    let parameter =
        |(name, value): &(String, Template)| format!("{} = {}", quote(name), text(value));
    let parameters: Vec<String> = request.parameters.iter().map(parameter).collect();
    let parameters = match parameters.as_slice() {
        [] => String::new(),
        some => format!(", parameters = {{ {} }}", some.join(", ")),
    };
    format!(
        "{{ token_url = {url}, client = {client}, secret = {secret}, client_auth = \
         {client_auth}{scope}{per}{parameters} }}"
    )
}

fn request(out: &mut TomlText, request: &Request, per_connection: RequestsPerConnection) {
    out.table("[[request]]");
    out.field("name", quote(&request.name));
    // Handshakes carry no request, so only its name matters.
    if per_connection == RequestsPerConnection::HandshakeOnly {
        return;
    }
    out.field("weight", request.weight);
    match (&request.grpc, &request.body) {
        (Some(grpc), Some(Body::Message(message))) => out.field("grpc", grpc.canonical(message)),
        _ => method_and_path(out, request),
    }
    out.field("headers", headers(request));
    if let Some(auth) = &request.auth {
        out.field("auth", quote(&auth.name));
    }
    match &request.body {
        Some(Body::Text(text)) => out.field("body", quote(&text.to_string())),
        Some(Body::File(body)) => out.field("body_file", file(body)),
        Some(Body::Multipart(parts)) => out.field("multipart", array(&parts.parts, part)),
        Some(Body::Message(_)) | None => {}
    }
    if let Some(bytes) = request.transfer.chunk_bytes {
        out.field("chunk_bytes", bytes);
    }
    if let Some(wait) = request.transfer.continue_within {
        out.field("expect_continue", time(wait));
    }
    if request.redirects > 0 {
        out.field("redirects", request.redirects);
    }
    answer(out, request);
}

fn method_and_path(out: &mut TomlText, request: &Request) {
    if request.websocket.is_none() {
        out.field("method", quote(&request.method));
    }
    if let Some(path) = &request.path {
        out.field("path", quote(&path.to_string()));
    }
}

/// What is said of the answer to a request.
fn answer(out: &mut TomlText, request: &Request) {
    out.field("expect", request.expect.canonical());
    if let Some(stream) = &request.stream {
        out.field("stream", stream.canonical());
    }
    if let Some(socket) = &request.websocket {
        out.field("websocket", socket.canonical());
    }
    let captures = request.captures.iter();
    let captures: Vec<String> = captures
        .map(|capture| format!("{} = {}", capture.name, capture.canonical()))
        .collect();
    if !captures.is_empty() {
        out.field("capture", format_args!("{{ {} }}", captures.join(", ")));
    }
}

fn replay(out: &mut TomlText, replay: &Replay) {
    out.table("[replay]");
    out.field("file", file(&replay.file));
    out.field("speed", format_args!("{:?}", replay.arrivals.speed()));
    out.field("loop", replay.arrivals.turns());
    out.field("from", time(replay.from));
    if let Some(to) = replay.to {
        out.field("to", time(to));
    }
    out.field("status", word(replay.status));
    if replay.connections != ReplayConnections::Pooled {
        out.field("connections", word(replay.connections));
    }
    if replay.handshakes != ReplayHandshakes::Planned {
        out.field("handshakes", word(replay.handshakes));
    }
    let facts = replay.arrivals.facts();
    let handshakes = facts.handshakes.map_or(String::new(), |of| {
        format!(
            ", handshakes = {{ full = {}, resumed = {}, names = {}, tls12 = {}, tls13 = {} }}",
            of.full, of.resumed, of.names, of.tls12, of.tls13
        )
    });
    let (requests, connections) = (facts.requests, facts.connections);
    let length = time(Duration::from_nanos(facts.length_ns));
    let counts = array(&facts.counts, ToString::to_string);
    out.field(
        "log",
        format_args!(
            "{{ requests = {requests}, length = {length}, connections = {connections}, counts = \
             {counts}{handshakes} }}"
        ),
    );
}

/// What the recorded requests of one method have beside what the log says.
fn replayed_request(out: &mut TomlText, request: &Request) {
    out.table("[[request]]");
    out.field("name", quote(&request.name));
    out.field("method", quote(&request.method));
    out.field("headers", headers(request));
    if let Some(auth) = &request.auth {
        out.field("auth", quote(&auth.name));
    }
    answer(out, request);
}

fn part(part: &BodyPart) -> String {
    let content = match &part.content {
        PartContent::Text(text) => format!("text = {}", quote(&text.to_string())),
        PartContent::File(content) => format!("file = {}", file(content)),
    };
    let word = |key: &str, word: &Option<String>| match word {
        Some(word) => format!(", {key} = {}", quote(word)),
        None => String::new(),
    };
    let filename = word("filename", &part.filename);
    let media_type = word("type", &part.media_type);
    format!(
        "{{ name = {}, {content}{filename}{media_type} }}",
        quote(&part.name)
    )
}

/// Writes fields of the same name together, as they are in the original text.
fn headers(request: &Request) -> String {
    let mut fields: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value) in &request.headers {
        let value = quote(&value.reveal().to_string());
        match fields.last_mut() {
            Some((last, values)) if last == name => values.push(value),
            _ => fields.push((name, vec![value])),
        }
    }
    let field = |(name, values): &(&str, Vec<String>)| match values.as_slice() {
        [value] => format!("{} = {value}", quote(name)),
        values => format!("{} = [{}]", quote(name), values.join(", ")),
    };
    if fields.is_empty() {
        "{}".to_owned()
    } else {
        format!(
            "{{ {} }}",
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        )
    }
}

fn journey(out: &mut TomlText, journey: &Journey, plan: &Plan, load: Option<&JourneyLoad>) {
    out.table("[[journey]]");
    out.field("name", quote(&journey.name));
    match load {
        None => out.field("weight", journey.weight),
        Some(load) => out.field("load", journey_load(load, &plan.load.shape)),
    }
    out.field("connection", word(journey.connection));
    out.field("cookies", journey.canonical_cookies());
    let requests = plan.requests.iter();
    let names: Vec<&str> = requests.map(|request| request.name.as_str()).collect();
    out.field("steps", journey.canonical_steps(&names));
}

fn connection(out: &mut TomlText, connection: &Connection) {
    out.table("[connection]");
    match connection.requests {
        RequestsPerConnection::HandshakeOnly => out.field("requests", 0),
        RequestsPerConnection::Limited(requests) => out.field("requests", requests),
        RequestsPerConnection::Unlimited => {
            out.field("requests", quote(RequestsPerConnection::UNLIMITED_WORD));
        }
    }
    out.field("close", word(connection.close));
    out.field("confirm", connection.confirm);
    out.field("http", word(connection.http));
    if let HttpVersion::Http2 { streams } = connection.http {
        out.field("streams", streams);
    }
    out.field(
        "source_addresses",
        array(&connection.source_addresses, |ip| quote(&ip.to_string())),
    );
    if let Some(protocol) = connection.proxy_protocol {
        out.field("proxy_protocol", word(protocol.version));
        if let Some(network) = protocol.source {
            out.field("proxy_source", quote(&network.to_string()));
        }
    }
    let timeouts = connection.timeouts;
    let connect = time(timeouts.connect);
    let handshake = time(timeouts.handshake);
    let request = time(timeouts.request);
    out.field(
        "timeouts",
        format_args!("{{ connect = {connect}, handshake = {handshake}, request = {request} }}"),
    );
}

fn tls(out: &mut TomlText, tls: &Tls) {
    out.table("[tls]");
    out.field("versions", array(&tls.versions, |&version| word(version)));
    out.field(
        "cipher_suites",
        array(&tls.cipher_suites, |suite| quote(suite.name)),
    );
    out.field("groups", array(&tls.groups, |group| quote(group.name)));
    if let Some(signatures) = &tls.signatures {
        let signatures = array(signatures, |scheme| quote(scheme.name));
        out.field("signatures", signatures);
    }
    out.field("key_share", word(tls.key_share));
    if tls.resumption != Resumption::Recorded {
        out.field("resumption", resumption(tls.resumption));
    }
    out.field("early_data", tls.early_data);
    out.field("verify", word(tls.verify));
    out.field("key_exchange", word(tls.key_exchange));
    if let Some(ca) = &tls.ca {
        out.field("ca", file(ca));
    }
    out.field(
        "client_certificates",
        client_certificates(&tls.client_certificates),
    );
    match &tls.server_name {
        ServerNames::OfUrl => {}
        ServerNames::Given(name) => out.field("server_name", quote(name)),
        ServerNames::Column(column) => out.field("server_name", quote(&column.to_string())),
    }
    out.field("alpn", array(&tls.alpn, |protocol| quote(protocol)));
    out.field("key_log", tls.key_log);
}

fn client_certificates(identities: &ClientCertificates) -> String {
    match identities {
        ClientCertificates::Files(pairs) => array(pairs, |pair| {
            let [cert, key] =
                [&pair.cert, &pair.key].map(|file| file_table(&file.name, file.sha256));
            format!("{{ cert = {cert}, key = {key} }}")
        }),
        ClientCertificates::Mint(minting) => {
            let [ca, ca_key] =
                [&minting.ca, &minting.ca_key].map(|file| file_table(&file.name, file.sha256));
            let (subject, validity) = (quote(&minting.subject.to_string()), time(minting.validity));
            let number = minting.number;
            format!(
                "{{ mint = {number}, ca = {ca}, ca_key = {ca_key}, subject = {subject}, validity \
                 = {validity} }}"
            )
        }
    }
}

fn resumption(resumption: Resumption) -> String {
    let Resumption::Share { share, kind } = resumption else {
        return quote(Resumption::NEVER_WORD);
    };
    format!("{{ share = {share:?}, kind = {} }}", word(kind))
}

fn load(out: &mut TomlText, load: &Load, unit: WorkUnit) {
    out.table("[load]");
    if load.recorded.is_some() {
        if let Shape::Open {
            max_connections, ..
        } = load.shape
        {
            out.field("max_connections", max_connections);
        }
        return out.field("seed", load.seed);
    }
    match &load.shape {
        Shape::Closed {
            connections,
            max_connections,
            think_time,
        } => {
            if load.journeys.is_empty() {
                out.field(load.shape.users_key(), connections);
            }
            if let Some(max_connections) = max_connections {
                out.field("max_connections", max_connections);
            }
            if let Some(pause) = think_time {
                out.field(
                    "think_time",
                    format_args!("{{ min = {}, max = {} }}", time(pause.min), time(pause.max)),
                );
            }
            out.field("connect_ramp", time(load.connect_ramp));
        }
        Shape::Open {
            rate,
            arrivals,
            max_connections,
            users,
        } => {
            if load.journeys.is_empty() {
                out.field("rate", quote(&rate.to_string()));
            }
            out.field("arrivals", word(*arrivals));
            out.field("max_connections", max_connections);
            if let Some(users) = users {
                out.field("users", users);
            }
        }
    }
    match load.end {
        End::Duration(duration) => out.field("duration", time(duration)),
        End::Requests(number) => out.field(unit.key(), number),
    }
    out.field("warm_up", time(load.warm_up));
    out.field("seed", load.seed);
    if !load.journeys.is_empty() {
        return; // the stages are the sum of those that journeys have
    }
    for stage in &load.stages {
        out.table("[[load.stage]]");
        out.field("over", time(stage.over));
        out.field("to", amount(stage.to, &load.shape));
    }
}

/// Virtual users, or arrivals per second.
fn amount(amount: f64, shape: &Shape) -> String {
    match shape {
        Shape::Closed { .. } => amount.to_string(),
        Shape::Open { .. } => format!("\"{amount}/s\""),
    }
}

/// An inline table.
fn journey_load(load: &JourneyLoad, shape: &Shape) -> String {
    let stages = array(&load.stages, |stage| {
        let to = amount(stage.to, shape);
        format!("{{ over = {}, to = {to} }}", time(stage.over))
    });
    let key = match shape {
        Shape::Closed { .. } => shape.users_key(),
        Shape::Open { .. } => "rate",
    };
    let first = amount(load.amount, shape);
    format!("{{ {key} = {first}, stage = {stages} }}")
}

fn fleet(out: &mut TomlText, fleet: &FleetPlan) {
    out.table("[fleet]");
    out.field("lost", word(fleet.lost));
    out.field("tolerate", fleet.tolerate);
    if let Some(timeout) = fleet.join_timeout {
        out.field("join_timeout", time(timeout));
    }
    out.field("lease", time(fleet.lease));
    out.field("max_skew", time(fleet.max_skew));
}

fn thresholds(out: &mut TomlText, thresholds: &[Threshold]) {
    out.table("[thresholds]");
    for threshold in thresholds {
        let Threshold {
            comparison, limit, ..
        } = threshold;
        out.field(
            &quote(&threshold.name()),
            quote(&format!("{comparison} {limit}")),
        );
    }
}

/// Writes the variables that are secret, if requests or made values have any; the others have been
/// put in.
fn secrets(out: &mut TomlText, plan: &Plan) {
    let secrets = plan.secret_variables();
    if !secrets.is_empty() {
        out.table("[vars]");
    }
    for (name, value) in secrets {
        out.field(name, format_args!("{{ secret = {} }}", quote(value)));
    }
}

fn file(file: &File) -> String {
    file_table(&file.name, file.sha256)
}

fn file_table(name: &str, sha256: Sha256) -> String {
    format!("{{ file = {}, sha256 = \"{sha256}\" }}", quote(name))
}

fn word(value: impl Words) -> String {
    quote(value.word())
}

fn time(time: Duration) -> String {
    quote(&duration::write(time))
}
