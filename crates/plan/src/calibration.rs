//! The CPU cost of each kind of work on a machine's load threads, as `agent calibrate` measured it,
//! and the part of their time that a [`Demand`] needs. A calibration can come from another machine,
//! so its content is checked.

use crate::{BuiltinKey, Demand, Group, Words as _};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest texts of a fingerprint, in characters.
const TEXT_MAX: usize = 120;
/// Most rows that are read: several times the number of kinds.
const ROWS_MAX: usize = 64;
/// Most CPU time of an operation that is plausible, in nanoseconds.
const CPU_NS_MAX: f64 = 1e10;

/// The CPU cost of each kind of work on a machine's load threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The machine, and the program that measured it.
    pub fingerprint: Fingerprint,
    /// When it was measured, in seconds since 1970 (UTC).
    pub measured_at_s: u64,
    /// The part of the CPU time that something else took during the measurement, for the kind of
    /// work that was disturbed most; `None` in files of versions that did not check.
    #[serde(default)]
    pub disturbed_share: Option<f64>,
    /// The measurements, one per kind of work.
    #[serde(deserialize_with = "read_rows")]
    pub rows: Vec<CalibrationRow>,
}

/// The properties of a machine that must be unchanged for a calibration to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Model of the CPU; empty if the kernel does not report it.
    pub cpu_model: String,
    /// CPUs that the process may use.
    pub cpus: u32,
    /// The control group's CPU quota, in CPUs; `None` without a limit.
    pub cpu_quota: Option<f32>,
    /// Kernel release.
    pub kernel: String,
    /// Version of the program.
    pub version: String,
}

/// The cost of a kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CalibrationRow {
    /// The kind of work.
    #[serde(serialize_with = "as_text")]
    pub work: CalibratedWork,
    /// CPU time of the load threads per operation, in nanoseconds, without waiting; for
    /// [`CalibratedWork::Byte`], per byte.
    pub cpu_ns: f64,
    /// Operations per second that one load thread reached; the target may have limited it.
    pub rate_per_worker: f64,
}

/// A kind of work that is calibrated. An operation costs the sum of its kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibratedWork {
    /// A connection with a full TLS 1.3 handshake and no request.
    FullHandshake {
        /// The key-exchange group.
        group: Group,
        /// The server's key.
        key: BuiltinKey,
    },
    /// A connection that resumes a TLS 1.3 session and has no request.
    ResumedHandshake,
    /// A connection without TLS, with one request.
    PlainConnection,
    /// A request over HTTP/1.1 and TLS on an open connection.
    Request,
    /// A byte of a large body over TLS.
    Byte,
}

/// The part of the time of a machine's load threads that a demand needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Expense {
    /// Part of the CPU time of all load threads, from 0; above 1 it is more than they have.
    pub part: f64,
    /// The parts by kind of work, the most expensive first; kinds that need nothing are left out.
    pub kinds: Vec<(CalibratedWork, f64)>,
}

/// Why bytes are not a calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// There are too many bytes.
    #[error(
        "is longer than the {} bytes that a calibration may have",
        Calibration::MAX_BYTES
    )]
    TooLong,
    /// They are not the text of a calibration.
    #[error("is not a calibration: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The fingerprint contains a text that cannot describe a machine.
    #[error("names a machine by characters that no machine is named by")]
    Characters,
}

impl Calibration {
    /// Most bytes of an encoded calibration: what an agent may send when it joins.
    pub const MAX_BYTES: usize = 16 << 10;

    /// The part of the CPU time that something else may take during a measurement; the figures are
    /// then too high by up to about the same part.
    pub const DISTURBED_MAX: f64 = 0.1;

    /// Whether something else took so much CPU time that the figures are too high.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        // A value that is not a number is not quiet either.
        let is_quiet = |share| (0.0..=Calibration::DISTURBED_MAX).contains(&share);
        self.disturbed_share.is_some_and(|share| !is_quiet(share))
    }

    /// Encodes it as JSON, with one value per line, for files and for the wire.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Only maps with unusual keys and failing writers cause errors, and there are none here.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Reads the output of [`Calibration::encode`], also from another version: unknown kinds of
    /// work and fields are left out, as are impossible figures.
    ///
    /// # Errors
    /// Fails if the bytes are not a calibration.
    pub fn decode(bytes: &[u8]) -> Result<Calibration, CalibrationError> {
        if bytes.len() > Calibration::MAX_BYTES {
            return Err(CalibrationError::TooLong);
        }
        let calibration: Calibration = serde_json::from_slice(bytes)?;
        let Fingerprint {
            cpu_model,
            kernel,
            version,
            ..
        } = &calibration.fingerprint;
        // The texts are printed, and an agent can send anything.
        let is_plain =
            |text: &String| text.chars().count() <= TEXT_MAX && !text.contains(char::is_control);
        if [cpu_model, kernel, version].into_iter().all(is_plain) {
            Ok(calibration)
        } else {
            Err(CalibrationError::Characters)
        }
    }

    /// Returns the part of the time of `workers` load threads on such a machine that `demand`
    /// needs. `None` if the demand is open, or asks for something that was not measured, such as
    /// HTTP/2.
    ///
    /// A group or key that was not measured, or is unknown, counts as the most expensive one that
    /// was. Bytes that the plan does not determine count nothing.
    #[must_use]
    pub fn expense(&self, demand: &Demand, workers: u32) -> Option<Expense> {
        let connections = demand.connections_per_s?;
        let requests = demand.requests_per_s?;
        let full = demand.full_handshakes_per_s?;
        let resumed = demand.resumed_handshakes_per_s?;
        let plain = (connections - full - resumed).max(0.0);
        let bytes = demand.sent_bytes_per_s? + demand.received_bytes_per_s.unwrap_or(0.0);
        // The built-in target does not speak HTTP/2.
        let request = self.row(CalibratedWork::Request);
        let request = request.filter(|_| !demand.is_http2);
        let asked = [
            (self.handshake(demand), full),
            (self.row(CalibratedWork::ResumedHandshake), resumed),
            (self.row(CalibratedWork::PlainConnection), plain),
            // A plain connection's cost includes one request.
            (request, (requests - plain).max(0.0)),
            (self.row(CalibratedWork::Byte), bytes),
        ];
        let time_ns = f64::from(workers.max(1)) * 1e9;
        let mut kinds = Vec::new();
        for (row, per_s) in asked.into_iter().filter(|&(_, per_s)| per_s > 0.0) {
            let row = row?;
            kinds.push((row.work, per_s * row.cpu_ns / time_ns));
        }
        kinds.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let part = kinds.iter().map(|(_, part)| part).sum();
        Some(Expense { part, kinds })
    }

    /// The measurement of `work`.
    #[must_use]
    pub fn row(&self, work: CalibratedWork) -> Option<&CalibrationRow> {
        self.rows.iter().find(|row| row.work == work)
    }

    /// The full handshakes that `demand` asks for; the most expensive ones for what is unknown.
    fn handshake(&self, demand: &Demand) -> Option<&CalibrationRow> {
        let is = |row: &&CalibrationRow, group: Option<Group>, key: Option<BuiltinKey>| {
            matches!(row.work, CalibratedWork::FullHandshake { group: of, key: by }
                if group.is_none_or(|group| group == of) && key.is_none_or(|key| key == by))
        };
        let dearest = |group, key| {
            let rows = self.rows.iter().filter(|row| is(row, group, key));
            rows.max_by(|one, other| one.cpu_ns.total_cmp(&other.cpu_ns))
        };
        dearest(demand.group, demand.key)
            .or_else(|| dearest(None, demand.key))
            .or_else(|| dearest(None, None))
    }
}

impl fmt::Display for CalibratedWork {
    /// A phrase that can follow a number: `full handshakes (X25519, p256)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalibratedWork::FullHandshake { group, key } => {
                write!(f, "full handshakes ({}, {})", group.name, key.word())
            }
            CalibratedWork::ResumedHandshake => f.write_str("resumed handshakes"),
            CalibratedWork::PlainConnection => f.write_str("connections without TLS"),
            CalibratedWork::Request => f.write_str("requests"),
            CalibratedWork::Byte => f.write_str("bytes"),
        }
    }
}

impl CalibratedWork {
    /// The kinds without parameters, with the words that files have for them.
    const ALONE: [(&'static str, CalibratedWork); 4] = [
        ("resumed_handshake", CalibratedWork::ResumedHandshake),
        ("plain_connection", CalibratedWork::PlainConnection),
        ("request", CalibratedWork::Request),
        ("byte", CalibratedWork::Byte),
    ];

    fn text(self) -> String {
        if let CalibratedWork::FullHandshake { group, key } = self {
            return format!("full_handshake {} {}", group.name, key.word());
        }
        let found = CalibratedWork::ALONE.iter().find(|(_, work)| *work == self);
        found.map_or_else(String::new, |(word, _)| (*word).to_owned())
    }

    fn from_text(text: &str) -> Option<CalibratedWork> {
        if let Some(kind) = text.strip_prefix("full_handshake ") {
            let (group, key) = kind.split_once(' ')?;
            return Some(CalibratedWork::FullHandshake {
                group: group.parse().ok()?,
                key: BuiltinKey::from_word(key)?,
            });
        }
        let found = CalibratedWork::ALONE.iter().find(|(word, _)| *word == text);
        found.map(|&(_, work)| work)
    }
}

fn as_text<S: serde::Serializer>(work: &CalibratedWork, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&work.text())
}

/// A row as it is written in files, possibly by another version.
#[derive(Deserialize)]
struct WrittenRow {
    work: String,
    cpu_ns: f64,
    rate_per_worker: f64,
}

impl WrittenRow {
    /// Checks the row; `None` for an unknown kind or an impossible figure.
    fn check(self) -> Option<CalibrationRow> {
        let is_cost = self.cpu_ns > 0.0 && self.cpu_ns <= CPU_NS_MAX;
        let is_figure = is_cost && self.rate_per_worker.is_finite() && self.rate_per_worker > 0.0;
        Some(CalibrationRow {
            work: CalibratedWork::from_text(&self.work).filter(|_| is_figure)?,
            cpu_ns: self.cpu_ns,
            rate_per_worker: self.rate_per_worker,
        })
    }
}

fn read_rows<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<CalibrationRow>, D::Error> {
    let written = Vec::<WrittenRow>::deserialize(from)?.into_iter();
    Ok(written
        .filter_map(WrittenRow::check)
        .take(ROWS_MAX)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{CalibratedWork, Calibration, CalibrationRow, Fingerprint};
    use crate::{BuiltinKey, Demand, Group};

    fn calibration() -> Calibration {
        let full = |name: &str, key| CalibratedWork::FullHandshake {
            group: name.parse().unwrap(),
            key,
        };
        let row = |(work, cpu_us): (CalibratedWork, f64)| CalibrationRow {
            work,
            cpu_ns: cpu_us * 1e3,
            rate_per_worker: 1e6 / cpu_us,
        };
        let rows = [
            (full("X25519", BuiltinKey::P256), 200.0),
            (full("X25519", BuiltinKey::Rsa2048), 150.0),
            (full("X25519MLKEM768", BuiltinKey::P256), 300.0),
            (CalibratedWork::ResumedHandshake, 100.0),
            (CalibratedWork::PlainConnection, 50.0),
            (CalibratedWork::Request, 10.0),
            (CalibratedWork::Byte, 0.001),
        ];
        Calibration {
            fingerprint: Fingerprint {
                cpu_model: "Model 1".into(),
                cpus: 4,
                cpu_quota: Some(2.5),
                kernel: "6.1.0".into(),
                version: "0.1.0".into(),
            },
            measured_at_s: 1_795_000_000,
            disturbed_share: Some(0.02),
            rows: rows.map(row).to_vec(),
        }
    }

    fn demand(connections: f64, resumed: f64, requests: f64) -> Demand {
        Demand {
            connections: 100,
            operations_per_s: Some(requests),
            connections_per_s: Some(connections),
            full_handshakes_per_s: Some(connections - resumed),
            resumed_handshakes_per_s: Some(resumed),
            group: Some(Group::ALL[0]),
            key: Some(BuiltinKey::P256),
            is_http2: false,
            requests_per_s: Some(requests),
            sent_bytes_per_s: Some(0.0),
            received_bytes_per_s: None,
            connections_in_all: None,
        }
    }

    fn percent(demand: &Demand, workers: u32) -> Option<f64> {
        let expense = calibration().expense(demand, workers)?;
        Some((expense.part * 1e6).round() / 1e4)
    }

    #[test]
    fn a_calibration_reads_what_it_writes() {
        let calibration = calibration();
        let read = Calibration::decode(&calibration.encode()).unwrap();
        assert_eq!(read, calibration);
    }

    #[test]
    fn an_operation_costs_the_sum_of_its_kinds() {
        // 1,000 full handshakes at 200 µs, 1,000 resumed ones at 100 µs, 4,000 requests at 10 µs:
        // 340 ms.
        let asked = demand(2_000.0, 1_000.0, 4_000.0);
        assert_eq!(percent(&asked, 1), Some(34.0));
        assert_eq!(percent(&asked, 2), Some(17.0));
        let kinds = calibration().expense(&asked, 1).unwrap().kinds;
        let named: Vec<String> = kinds.iter().map(|(work, _)| work.to_string()).collect();
        assert_eq!(
            named,
            [
                "full handshakes (X25519, p256)",
                "resumed handshakes",
                "requests"
            ]
        );
        let of_bytes = Demand {
            received_bytes_per_s: Some(1e8),
            ..demand(0.0, 0.0, 1_000.0)
        };
        assert_eq!(percent(&of_bytes, 1), Some(11.0));
        let plain = Demand {
            full_handshakes_per_s: Some(0.0),
            ..demand(1_000.0, 0.0, 3_000.0)
        };
        assert_eq!(percent(&plain, 1), Some(7.0));
    }

    #[test]
    fn what_is_not_known_counts_as_the_dearest() {
        let asked = demand(1_000.0, 0.0, 0.0);
        let cases: [(&str, Option<BuiltinKey>, f64); 4] = [
            ("X25519", Some(BuiltinKey::Rsa2048), 15.0),
            ("X25519", None, 20.0),
            ("secp384r1", None, 30.0),
            ("secp384r1", Some(BuiltinKey::Rsa2048), 15.0),
        ];
        for (group, key, expected) in cases {
            let group = Some(group.parse().unwrap());
            let asked = Demand {
                group,
                key,
                ..asked.clone()
            };
            assert_eq!(percent(&asked, 1), Some(expected), "{group:?} {key:?}");
        }
    }

    #[test]
    fn an_open_demand_and_a_kind_that_was_not_measured_need_no_known_part() {
        let asked = demand(1.0, 0.0, 1.0);
        let open = Demand {
            requests_per_s: None,
            ..asked.clone()
        };
        assert_eq!(percent(&open, 1), None);
        let http2 = Demand {
            is_http2: true,
            ..asked
        };
        assert_eq!(percent(&http2, 1), None);
    }

    #[test]
    fn foreign_bytes_are_refused_or_harmless() {
        let text = String::from_utf8(calibration().encode()).unwrap();
        let changed = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Calibration::decode(text.replace(from, to).as_bytes())
        };
        assert!(changed("Model 1", "\\u001b[2J").is_err());
        assert!(changed("Model 1", &"x".repeat(121)).is_err());
        assert!(changed("1795000000", "-1").is_err());
        assert!(Calibration::decode(&vec![b' '; Calibration::MAX_BYTES + 1]).is_err());
        assert!(Calibration::decode(&b"[".repeat(Calibration::MAX_BYTES)).is_err());
        for cut in 0..text.trim_end().len() {
            assert!(
                Calibration::decode(&text.as_bytes()[..cut]).is_err(),
                "{cut}"
            );
        }
        let rows = |calibration: Calibration| calibration.rows.len();
        let all = calibration().rows.len();
        for (from, to) in [
            ("\"cpu_ns\": 200000.0", "\"cpu_ns\": -1"),
            ("\"cpu_ns\": 200000.0", "\"cpu_ns\": 1e300"),
            ("\"cpu_ns\": 200000.0", "\"cpu_ns\": 0"),
            ("plain_connection", "quic_connection"),
            ("full_handshake X25519 p256", "full_handshake X25519 p999"),
        ] {
            assert_eq!(changed(from, to).map(rows).unwrap(), all - 1, "{to}");
        }
        let more = changed("\"cpus\": 4", "\"cpus\": 4, \"sockets\": 2").unwrap();
        assert_eq!(more, calibration());
        let row = "{\"work\":\"byte\",\"cpu_ns\":1,\"rate_per_worker\":1},";
        let many = changed("\"rows\": [", &format!("\"rows\": [{}", row.repeat(200))).unwrap();
        assert_eq!(many.rows.len(), 64);
    }
}
