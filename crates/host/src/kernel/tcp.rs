//! Bytes per interface and counters of TCP, of this network namespace.

use crate::HostError;
use crate::kernel_files::KernelText;
use std::collections::BTreeMap;

/// Bytes received and sent by one interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
}

/// Counters of TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpCounters {
    pub(crate) segments_sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) listen_overflows: u64,
    pub(crate) listen_drops: u64,
    pub(crate) timeouts: u64,
    /// Connections established now.
    pub(crate) established: u64,
}

/// What each interface carried, from `/proc/net/dev`: two lines of headings, then one each.
pub(crate) fn interfaces(dev: &KernelText) -> Result<BTreeMap<String, Traffic>, HostError> {
    dev.text
        .lines()
        .skip(2)
        .map(|line| interface(dev, line))
        .collect()
}

fn interface(dev: &KernelText, line: &str) -> Result<(String, Traffic), HostError> {
    let (name, numbers) = line
        .split_once(':')
        .ok_or_else(|| dev.malformed("an interface's name"))?;
    let mut numbers = numbers.split_whitespace();
    let received_bytes = dev.number(numbers.next(), "received bytes")?;
    // Eight columns are of what was received, the next eight of what was sent.
    let sent_bytes = dev.number(numbers.nth(7), "sent bytes")?;
    Ok((
        name.trim().to_owned(),
        Traffic {
            received_bytes,
            sent_bytes,
        },
    ))
}

impl TcpCounters {
    /// From `/proc/net/snmp` and `/proc/net/netstat` (kernel:
    /// Documentation/networking/snmp_counter.rst).
    pub(crate) fn parse(snmp: &KernelText, netstat: &KernelText) -> Result<TcpCounters, HostError> {
        Ok(TcpCounters {
            segments_sent: column(snmp, "Tcp:", "OutSegs")?,
            retransmits: column(snmp, "Tcp:", "RetransSegs")?,
            established: column(snmp, "Tcp:", "CurrEstab")?,
            listen_overflows: column(netstat, "TcpExt:", "ListenOverflows")?,
            listen_drops: column(netstat, "TcpExt:", "ListenDrops")?,
            timeouts: column(netstat, "TcpExt:", "TCPTimeouts")?,
        })
    }
}

/// A value of a file in which a line of names is followed by a line of values.
fn column(text: &KernelText, group: &str, name: &str) -> Result<u64, HostError> {
    let mut lines = text
        .text
        .lines()
        .filter_map(|line| line.strip_prefix(group));
    let names = lines.next().unwrap_or("");
    let values = lines.next().unwrap_or("");
    let value = names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|&(column, _)| column == name);
    text.number(value.map(|(_, value)| value), name)
}
