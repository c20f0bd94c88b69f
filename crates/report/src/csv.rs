//! One row per second for spreadsheets and plots (RFC 4180, but with plain newlines). A row of a
//! run longer than an hour stands for two seconds, and so on.

use analysis::{Document, Row};
use std::fmt::Write as _;

/// Column names, with units last as in `result.json`.
const HEADER: &str = "second,warm_up,agents,started,ended,errors,timed_out,payload_bytes,\
                      wire_received_bytes,wire_sent_bytes,connections_opened,in_service,\
                      response_time_count,response_time_mean_ns,response_time_p50_ns,\
                      response_time_p99_ns,response_time_max_ns,response_time_p99_at_least,seconds,\
                      response_time_p50_at_least,response_time_at_least,events,\
                      first_event_mean_ns,event_gap_mean_ns";

/// Further columns of a load of journeys.
const OF_JOURNEYS: &str = ",journeys_begun,journeys_completed,journeys_failed";

/// Further columns of a load with WebSockets.
const OF_SOCKETS: &str = ",messages,message_time_mean_ns";

pub(crate) fn render(document: &Document) -> String {
    let has_journeys = document.has_journeys();
    let has_sockets = !document.websockets.is_empty();
    let mut text = HEADER.to_owned();
    for (is_there, columns) in [(has_journeys, OF_JOURNEYS), (has_sockets, OF_SOCKETS)] {
        text.push_str(if is_there { columns } else { "" });
    }
    text.push('\n');
    for row in &document.series.rows {
        line(&mut text, row, document.series.row_seconds);
        if has_journeys {
            journeys(&mut text, row);
        }
        if has_sockets {
            let _ = write!(text, ",{}", row.messages);
            mean(&mut text, row.message_time_mean_ns);
        }
        text.push('\n');
    }
    text
}

/// Without a time there is no mean, which is not a time of 0.
fn mean(text: &mut String, mean_ns: Option<u64>) {
    let mean_ns = mean_ns.map_or_else(String::new, |ns| ns.to_string());
    let _ = write!(text, ",{mean_ns}");
}

fn journeys(text: &mut String, row: &Row) {
    let counts = [
        row.journeys_begun,
        row.journeys_completed,
        row.journeys_failed,
    ];
    counts.iter().for_each(|count| {
        let _ = write!(text, ",{count}");
    });
}

fn line(text: &mut String, row: &Row, row_seconds: u32) {
    // Results of earlier versions do not state the length of each row.
    let seconds = if row.seconds == 0 {
        row_seconds
    } else {
        row.seconds
    };
    let numbers = [
        row.started,
        row.ended,
        row.errors,
        row.timed_out,
        row.payload_bytes,
        row.wire_received_bytes,
        row.wire_sent_bytes,
    ];
    let _ = write!(text, "{},{},{}", row.second, row.warm_up, row.agents);
    numbers.iter().for_each(|number| {
        let _ = write!(text, ",{number}");
    });
    let _ = write!(text, ",{},{:.3}", row.connections_opened, row.in_service);
    let _ = write!(
        text,
        ",{},{:.0}",
        row.response_time_count, row.response_time_mean_ns
    );
    let times = [
        row.response_time_p50_ns,
        row.response_time_p99_ns,
        row.response_time_max_ns,
    ];
    times.iter().for_each(|time| {
        let _ = write!(text, ",{time}");
    });
    let _ = write!(
        text,
        ",{},{seconds},{},{},{}",
        row.response_time_p99_at_least,
        row.response_time_p50_at_least,
        row.is_cut_short(),
        row.events
    );
    mean(text, row.first_event_mean_ns);
    mean(text, row.event_gap_mean_ns);
}
