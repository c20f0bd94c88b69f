//! The messages of OTLP 1.9 that are used here, with the field numbers of `opentelemetry/proto`. A
//! `oneof` is written as optional fields of which exactly one is set, since absent fields take no
//! bytes.

use prost::Message;

/// `collector.metrics.v1.ExportMetricsServiceRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_metrics: Vec<OtlpResourceMetrics>,
}

/// `collector.metrics.v1.ExportMetricsServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<OtlpPartialSuccess>,
}

/// `collector.metrics.v1.ExportMetricsPartialSuccess`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpPartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_data_points: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

/// `metrics.v1.ResourceMetrics`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_metrics: Vec<OtlpScopeMetrics>,
}

/// `resource.v1.Resource`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpResource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<OtlpAttribute>,
}

/// `metrics.v1.ScopeMetrics`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) metrics: Vec<OtlpMetric>,
}

/// `common.v1.InstrumentationScope`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

/// `common.v1.KeyValue`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpAttribute {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<OtlpText>,
}

/// `common.v1.AnyValue`, of which only texts are used.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpText {
    #[prost(string, optional, tag = "1")]
    pub(super) text: Option<String>,
}

/// `metrics.v1.Metric`; exactly one of the last three fields is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpMetric {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(string, tag = "3")]
    pub(super) unit: String,
    #[prost(message, optional, tag = "5")]
    pub(super) gauge: Option<OtlpGauge>,
    #[prost(message, optional, tag = "7")]
    pub(super) sum: Option<OtlpSum>,
    #[prost(message, optional, tag = "10")]
    pub(super) exponential_histogram: Option<OtlpHistogram>,
}

/// `metrics.v1.Gauge`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpGauge {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpNumber>,
}

/// `metrics.v1.Sum`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpSum {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpNumber>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

/// `metrics.v1.NumberDataPoint`; exactly one of the last two fields is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpNumber {
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<OtlpAttribute>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    #[prost(double, optional, tag = "4")]
    pub(super) as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    pub(super) as_int: Option<i64>,
}

/// `metrics.v1.ExponentialHistogram`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpHistogram {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpDistribution>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
}

/// `metrics.v1.ExponentialHistogramDataPoint`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpDistribution {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<OtlpAttribute>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(super) sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    pub(super) scale: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub(super) positive: Option<OtlpBuckets>,
    #[prost(double, optional, tag = "12")]
    pub(super) min: Option<f64>,
    #[prost(double, optional, tag = "13")]
    pub(super) max: Option<f64>,
}

/// `metrics.v1.ExponentialHistogramDataPoint.Buckets`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpBuckets {
    #[prost(sint32, tag = "1")]
    pub(super) offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) bucket_counts: Vec<u64>,
}
