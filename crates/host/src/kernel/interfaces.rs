//! What each network interface carried and lost, from `/proc/PID/net/dev` and `/sys/class/net`.

use super::{KernelFiles, KernelText, difference};
use crate::HostError;
use std::collections::BTreeMap;

/// What one interface carried and lost since it came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Bytes that came.
    pub received_bytes: u64,
    /// Packets that came.
    pub received_packets: u64,
    /// Packets that came broken.
    pub receive_errors: u64,
    /// Packets that came and were dropped, those that were missed among them.
    pub receive_drops: u64,
    /// Packets for which the device had no room: the machine did not fetch them in time. 0 where
    /// the device does not count them.
    pub receive_missed: u64,
    /// Bytes that went.
    pub sent_bytes: u64,
    /// Packets that went.
    pub sent_packets: u64,
    /// Packets that could not be sent.
    pub send_errors: u64,
    /// Packets that were dropped before they went.
    pub send_drops: u64,
    /// Speed of the link, Mbit/s; `None` where there is no such thing, as with a virtual device.
    pub speed_mbit: Option<u64>,
}

/// The interfaces of the network namespace that `process` (an id, or `self`) is in.
///
/// Speeds come from the `/sys` that this process sees at its root. That is of another namespace
/// where a process changed its namespace and kept its mounts.
pub(crate) fn interfaces(
    files: &KernelFiles,
    process: &str,
) -> Result<BTreeMap<String, InterfaceCounters>, HostError> {
    let dev = files.read(&format!("proc/{process}/net/dev"))?;
    let mut interfaces = parse(&dev)?;
    for (name, counters) in &mut interfaces {
        let folder = format!("proc/{process}/root/sys/class/net/{name}");
        // A device that has no speed refuses to say it, and says -1 while its link is down.
        counters.speed_mbit = value(files, &format!("{folder}/speed"));
        let missed = value(files, &format!("{folder}/statistics/rx_missed_errors"));
        counters.receive_missed = missed.unwrap_or(0);
    }
    Ok(interfaces)
}

/// A number in a file of its own. Who may not read it, or not at this device, does not know.
fn value(files: &KernelFiles, path: &str) -> Option<u64> {
    files.read(path).ok()?.text.trim().parse().ok()
}

/// Two lines of headings, then one for each interface.
fn parse(dev: &KernelText) -> Result<BTreeMap<String, InterfaceCounters>, HostError> {
    let lines = dev.text.lines().skip(2);
    lines.map(|line| interface(dev, line)).collect()
}

fn interface(dev: &KernelText, line: &str) -> Result<(String, InterfaceCounters), HostError> {
    let (name, numbers) = line
        .split_once(':')
        .ok_or_else(|| dev.malformed("an interface's name"))?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map(|word| dev.number(Some(word), "a count of an interface"))
        .collect::<Result<_, _>>()?;
    // Eight columns are of what came, the next eight of what went: bytes, packets, errors, drops,
    // and four more.
    let &[
        received_bytes,
        received_packets,
        receive_errors,
        receive_drops,
        _,
        _,
        _,
        _,
        sent_bytes,
        sent_packets,
        send_errors,
        send_drops,
        ..,
    ] = numbers.as_slice()
    else {
        return Err(dev.malformed("twelve counts of an interface"));
    };
    let counters = InterfaceCounters {
        received_bytes,
        received_packets,
        receive_errors,
        receive_drops,
        sent_bytes,
        sent_packets,
        send_errors,
        send_drops,
        ..InterfaceCounters::default()
    };
    Ok((name.trim().to_owned(), counters))
}

impl InterfaceCounters {
    /// What it carried and lost since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &InterfaceCounters) -> InterfaceCounters {
        difference!(self - earlier: received_bytes, received_packets, receive_errors,
            receive_drops, receive_missed, sent_bytes, sent_packets, send_errors, send_drops;
            speed_mbit)
    }
}
