//! The merged result is the sum of what the agents recorded, bucket by bucket.

use crate::fleet::shares;
use analysis::{Document, TimeFigure};
use hdrhistogram::Histogram;
use interop::{CoordinatorCommand, Histograms, Nginx, NginxOptions, NginxServer, Pki, plan};

/// Not a multiple of any number of agents here.
const REQUESTS: u64 = 2003;
const USERS: u64 = 9;

#[test]
fn merged_histograms_are_the_sum_of_the_agents_bucket_by_bucket() {
    let pki = Pki::new();
    for agents in [2, 4] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let load = format!(
            "load = {{ connections = {USERS}, requests = {REQUESTS} }}\nconnection.requests = 20\n"
        );
        let text = load + &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, "");
        let arguments = [
            "--local",
            "--agents",
            &agents.to_string(),
            "--histograms-by-agent",
        ];
        let finished = CoordinatorCommand::start(&arguments, &text).run().expect(0);
        let document = finished.clean().document();
        assert_shares(&document, agents);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(
            (rows.len() as u64, nginx.status().accepted),
            (REQUESTS, document.measured.connections.opened)
        );
        assert_histograms(
            &document,
            &finished.histograms(),
            &finished.histograms_by_agent(),
        );
    }
}

fn assert_shares(document: &Document, agents: u32) {
    assert_eq!(
        (
            document.measured.operations.ended,
            document.measured.operations.ok
        ),
        (REQUESTS, REQUESTS)
    );
    let of_agents: Vec<u64> = document
        .by_agent
        .iter()
        .map(|group| group.figures.operations.ended)
        .collect();
    assert_eq!(of_agents, shares(REQUESTS, USERS, u64::from(agents)));
    // The coordinator compares the sum of each agent's seconds with the totals that the agent kept
    // itself, bucket by bucket.
    assert!(
        document
            .agents
            .iter()
            .all(|agent| agent.totals_match == Some(true) && agent.missing_intervals.is_empty())
    );
}

fn assert_histograms(document: &Document, histograms: &Histograms, by_agent: &Histograms) {
    assert!(
        histograms.tags().iter().all(|tag| tag.ends_with(".ok")),
        "{:?}",
        histograms.tags()
    );
    for metric in [
        "response_time",
        "service_time",
        "first_byte",
        "connect",
        "handshake_full",
    ] {
        let tag = format!("{metric}.ok");
        let merged = &document.measured.times[metric];
        let sum = histograms.of(&tag);
        assert_eq!(merged.count, sum.len(), "{metric}");
        assert_percentiles(metric, merged, &sum);
        assert_eq!(
            columns(merged, &sum),
            merged
                .histogram
                .iter()
                .map(|column| column.count)
                .collect::<Vec<_>>(),
            "{metric}"
        );
        for (index, group) in document.by_agent.iter().enumerate() {
            assert_percentiles(
                metric,
                &group.figures.times[metric],
                &by_agent.of(&format!("agent_{index}.{tag}")),
            );
        }
    }
}

fn assert_percentiles(metric: &str, figure: &TimeFigure, histogram: &Histogram<u64>) {
    assert_eq!(figure.count, histogram.len(), "{metric}");
    assert!(
        histogram.equivalent(figure.max_ns, histogram.max())
            && histogram.equivalent(figure.min_ns, histogram.min()),
        "{metric}"
    );
    for percentile in &figure.percentiles {
        let value = histogram
            .value_at_percentile(percentile.percentile)
            .min(figure.max_ns);
        assert_eq!(
            (percentile.value_ns, percentile.at_least),
            (value, false),
            "{metric} {}",
            percentile.percentile
        );
    }
}

/// The histogram's buckets, counted in the columns of the figure's picture.
fn columns(figure: &TimeFigure, histogram: &Histogram<u64>) -> Vec<u64> {
    let mut counts = vec![0; figure.histogram.len()];
    for bucket in histogram.iter_recorded() {
        let value = bucket.value_iterated_to().min(figure.max_ns);
        let column = figure
            .histogram
            .partition_point(|column| column.to_ns < value)
            .min(counts.len() - 1);
        counts[column] += bucket.count_since_last_iteration();
    }
    counts
}
