//! Counters of TCP of a network namespace, from `/proc/PID/net/snmp` and `netstat` (kernel:
//! Documentation/networking/snmp_counter.rst).

use super::{KernelText, difference};
use crate::HostError;
use std::collections::BTreeMap;

/// Counters of TCP since boot. Behind each is the kernel's own name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Connections established now (`CurrEstab`).
    pub established: u64,
    /// Connections opened from here (`ActiveOpens`).
    pub active_opens: u64,
    /// Connections opened from elsewhere (`PassiveOpens`).
    pub passive_opens: u64,
    /// Connections that were not established after all (`AttemptFails`).
    pub failed_attempts: u64,
    /// Segments that came (`InSegs`).
    pub segments_received: u64,
    /// Segments sent (`OutSegs`).
    pub segments_sent: u64,
    /// Those of them that were sent again (`RetransSegs`).
    pub retransmits: u64,
    /// SYNs and SYN-ACKs sent again (`TCPSynRetrans`).
    pub syn_retransmits: u64,
    /// Resets sent (`OutRsts`).
    pub resets_sent: u64,
    /// Time-outs of retransmission (`TCPTimeouts`).
    pub timeouts: u64,
    /// Connections that found an accept queue full (`ListenOverflows`).
    pub listen_overflows: u64,
    /// SYNs and connections dropped at a listener, those of overflows among them (`ListenDrops`).
    pub listen_drops: u64,
    /// SYNs dropped because too many handshakes were under way (`TCPReqQFullDrop`).
    pub request_queue_drops: u64,
    /// SYNs answered with a cookie for the same reason (`TCPReqQFullDoCookies`).
    pub request_queue_cookies: u64,
    /// SYN cookies sent (`SyncookiesSent`).
    pub cookies_sent: u64,
    /// Times that TCP began to run short of memory (`TCPMemoryPressures`).
    pub memory_pressures: u64,
    /// Connections ended for want of memory (`TCPAbortOnMemory`).
    pub memory_aborts: u64,
    /// Segments dropped because a socket's owner was too slow (`TCPBacklogDrop`).
    pub backlog_drops: u64,
}

impl TcpCounters {
    pub(crate) fn parse(snmp: &KernelText, netstat: &KernelText) -> Result<TcpCounters, HostError> {
        let (snmp, netstat) = (Columns::new(snmp, "Tcp:"), Columns::new(netstat, "TcpExt:"));
        Ok(TcpCounters {
            established: snmp.count("CurrEstab")?,
            active_opens: snmp.count("ActiveOpens")?,
            passive_opens: snmp.count("PassiveOpens")?,
            failed_attempts: snmp.count("AttemptFails")?,
            segments_received: snmp.count("InSegs")?,
            segments_sent: snmp.count("OutSegs")?,
            retransmits: snmp.count("RetransSegs")?,
            syn_retransmits: netstat.count("TCPSynRetrans")?,
            resets_sent: snmp.count("OutRsts")?,
            timeouts: netstat.count("TCPTimeouts")?,
            listen_overflows: netstat.count("ListenOverflows")?,
            listen_drops: netstat.count("ListenDrops")?,
            request_queue_drops: netstat.count("TCPReqQFullDrop")?,
            request_queue_cookies: netstat.count("TCPReqQFullDoCookies")?,
            cookies_sent: netstat.count("SyncookiesSent")?,
            memory_pressures: netstat.count("TCPMemoryPressures")?,
            memory_aborts: netstat.count("TCPAbortOnMemory")?,
            backlog_drops: netstat.count("TCPBacklogDrop")?,
        })
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &TcpCounters) -> TcpCounters {
        difference!(self - earlier: active_opens, passive_opens, failed_attempts,
            segments_received, segments_sent, retransmits, syn_retransmits, resets_sent, timeouts,
            listen_overflows, listen_drops, request_queue_drops, request_queue_cookies,
            cookies_sent, memory_pressures, memory_aborts, backlog_drops; established)
    }
}

/// A group of a file in which a line of names is followed by a line of values. Kernels differ in
/// which names there are, and in their order.
struct Columns<'a> {
    text: &'a KernelText,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Columns<'a> {
    fn new(text: &'a KernelText, group: &str) -> Columns<'a> {
        let mut lines = text
            .text
            .lines()
            .filter_map(|line| line.strip_prefix(group));
        let names = lines.next().unwrap_or("").split_whitespace();
        let values = lines.next().unwrap_or("").split_whitespace();
        Columns {
            text,
            values: names.zip(values).collect(),
        }
    }

    fn count(&self, name: &str) -> Result<u64, HostError> {
        self.text.number(self.values.get(name).copied(), name)
    }
}
