//! Reads `tls.server_name`: a name for all connections, or the column that names each.

use crate::read::columns;
use crate::read::context::Context;
use crate::read::field::Field;
use crate::rows::RowTakers;
use crate::{
    DataColumn, Host, HttpVersion, Piece, RequestsPerConnection, RowOrder, ServerNames, Template,
};
use std::num::NonZeroU32;

const EXAMPLE: &str = "a name such as \"edge.test\"";

pub(crate) fn read(
    field: &Field<'_>,
    per_connection: RequestsPerConnection,
    http: HttpVersion,
) -> Option<ServerNames> {
    let names = field.context.names();
    let text = field.template_text(EXAMPLE)?;
    if names.data_in(text).is_none() {
        return Some(ServerNames::Given(match field.parse(EXAMPLE)? {
            Host::Name(name) => name,
            Host::Ip(ip) => ip.to_string(),
        }));
    }
    if names.unknown_column(text).is_some() {
        columns::refuse_unknown(field, text);
        return None;
    }
    match Template::with(text, &names).pieces.as_slice() {
        [Piece::Column(column)] => {
            check_secret(field, column);
            check_reuse(field, column, per_connection, http);
            columns::in_server_name(field, column);
            Some(ServerNames::Column(column.clone()))
        }
        _ => {
            field.refuse(
                "has a column and more; write whole names into a column of the file, and only \
                 that column here",
            );
            None
        }
    }
}

/// Anyone on the path reads the names of connections.
fn check_secret(field: &Field<'_>, column: &DataColumn) {
    if column.is_secret() {
        field.problem(format_args!(
            "{column} is secret, and a server's name goes out unencrypted (RFC 6066 §3); remove \
             {:?} from data.{}.secret",
            column.name(),
            column.file.name
        ));
    }
}

/// A connection must not carry an operation whose row has another name.
fn check_reuse(
    field: &Field<'_>,
    column: &DataColumn,
    per_connection: RequestsPerConnection,
    http: HttpVersion,
) {
    if column.file.order == RowOrder::User {
        return;
    }
    let is_alone = match per_connection {
        RequestsPerConnection::HandshakeOnly => true,
        RequestsPerConnection::Limited(number) => number == NonZeroU32::MIN,
        RequestsPerConnection::Unlimited => false,
    };
    let shares = matches!(http, HttpVersion::Http2 { streams } if streams > 1);
    let (section, found) = match (is_alone, shares) {
        (true, false) => return,
        (true, true) => ("streams", "several streams at once on a connection"),
        (false, _) => ("requests", "several requests on a connection"),
    };
    field.problem(format_args!(
        "{column} gives each operation a name of its own, and the plan has {found}; write \
         connection.{section} = 1, or order = \"user\" in data.{}, which gives each user one name",
        column.file.name
    ));
}

/// Notes requests that do not name the host that their connection is for.
pub(crate) fn note_hosts(
    context: &Context<'_>,
    takers: RowTakers<'_>,
    per_connection: RequestsPerConnection,
) {
    let column = takers.tls.and_then(|tls| tls.name_column());
    let Some(column) = column else { return };
    let is_same = |host: &Template| host.columns().any(|one| one.file.name == column.file.name);
    let other = takers.requests.iter().find(|request| {
        let mut headers = request.headers.iter();
        let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        !host.is_some_and(|(_, value)| is_same(value.reveal()))
    });
    if let Some(other) = other
        && per_connection != RequestsPerConnection::HandshakeOnly
    {
        context.note(format!(
            "tls.server_name = \"{column}\": the request {:?} has no host = \"{column}\" in its \
             headers, so it names another host than its connection",
            other.name
        ));
    }
}
