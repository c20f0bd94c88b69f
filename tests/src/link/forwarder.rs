//! The thread that moves packets between the two devices of a link.

use super::LinkQuality;
use super::wire::{LinkCounts, Wire};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Packets read from one end before due packets are delivered again.
const BATCH: usize = 64;

/// No packet is longer.
const PACKET_BYTES_MAX: usize = 65_536;

/// What the thread shares with the link's owner.
pub(super) struct Shared {
    pub(super) quality: Mutex<LinkQuality>,
    pub(super) counts: Mutex<[LinkCounts; 2]>,
}

/// The thread; stopped and joined when dropped.
pub(super) struct Forwarder {
    pub(super) shared: Arc<Shared>,
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    pub(super) fn start(devices: [OwnedFd; 2], quality: LinkQuality) -> Forwarder {
        let shared = Arc::new(Shared {
            quality: Mutex::new(quality),
            counts: Mutex::default(),
        });
        let (stopped, stop) = pipe().unwrap();
        // Two seeds, so that the directions are independent.
        let wires = [quality.seed, !quality.seed].map(Wire::new);
        let mut moving = Moving {
            devices,
            wires,
            stopped,
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || moving.run())
            .unwrap();
        Forwarder {
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.take();
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        // A second panic during a panic would abort the process and lose the first message.
        if !std::thread::panicking() {
            ended.expect("nothing in this thread panics");
        }
    }
}

struct Moving {
    devices: [OwnedFd; 2],
    /// What is sent from each of the devices.
    wires: [Wire; 2],
    /// Closed when the owner goes.
    stopped: PipeReader,
    shared: Arc<Shared>,
}

impl Moving {
    fn run(&mut self) {
        // A packet must not wait for a CPU behind the programs under test. 0 is this thread; only
        // root may do this.
        let _ = rustix::process::setpriority_process(None, -20);
        let mut packet = vec![0; PACKET_BYTES_MAX];
        while !self.wait() {
            for from in 0..2 {
                self.take_in(from, &mut packet);
                self.deliver(from);
            }
            let counts = [self.wires[0].counts(), self.wires[1].counts()];
            *self
                .shared
                .counts
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = counts;
        }
    }

    /// Waits until a packet is sent or due. Returns whether the owner has gone.
    fn wait(&self) -> bool {
        let next_at = self.wires.iter().filter_map(Wire::next_at).min();
        let timeout = next_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout =
            timeout.map(|timeout| Timespec::try_from(timeout).expect("a packet is due soon"));
        let [near, far] = self
            .devices
            .each_ref()
            .map(|device| PollFd::new(device, PollFlags::IN));
        let mut all = [near, far, PollFd::new(&self.stopped, PollFlags::IN)];
        // After a signal it is as if a packet had arrived.
        let _ = poll(&mut all, timeout.as_ref());
        !all[2].revents().is_empty()
    }

    fn take_in(&mut self, from: usize, packet: &mut [u8]) {
        for _ in 0..BATCH {
            match read(&self.devices[from], &mut *packet) {
                Ok(length) => {
                    // Looked up for each packet: one that was sent after a change must follow it.
                    let quality = self.quality();
                    self.wires[from].send(Instant::now(), &packet[..length], &quality);
                }
                Err(Errno::INTR) => {}
                // There is no packet, or the device is down.
                Err(_) => return,
            }
        }
    }

    fn quality(&self) -> LinkQuality {
        *self
            .shared
            .quality
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&mut self, from: usize) {
        while let Some(packet) = self.wires[from].receive(Instant::now()) {
            // A device that is full loses the packet, as a wire does.
            let _ = write(&self.devices[1 - from], &packet);
        }
    }
}
