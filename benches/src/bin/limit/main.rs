//! `limit` does about the least that a client can do per operation. It has one thread, one epoll
//! loop, rustls, and a minimal reader of responses; it measures and checks nothing, and has no
//! time-outs. What a load generator costs beyond it is the load generator's own cost.
//!
//! Usage: `limit [--connections N] [--seconds S] [--close] [--handshake-only] [--resume] [--check
//! signature|nothing] [--versions 1.2|both] [--identity CERT.pem,KEY.pem] URL`. The URL has an IPv4
//! address, such as <https://127.0.0.1:8443/>.

mod connection;
mod options;
mod tls;

use connection::{Connection, Step};
use options::Options;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use std::mem::MaybeUninit;
use std::time::Instant;

/// After this many errors the run ends, since the server fails every connection.
const MOST_ERRORS: u64 = 100_000;

/// Size of the buffers for plaintext and for ciphertext.
const READ_BYTES: usize = 64 * 1024;

fn main() {
    let options = Options::from_arguments().unwrap_or_else(|problem| {
        eprintln!("limit: {problem}");
        std::process::exit(2);
    });
    Loop::new(&options).run();
}

struct Loop<'a> {
    options: &'a Options,
    epoll: OwnedFd,
    connections: Vec<Option<Connection>>,
    buffer: Vec<u8>,
    operations: u64,
    errors: u64,
}

impl Loop<'_> {
    fn new(options: &Options) -> Loop<'_> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("Linux has epoll");
        Loop {
            options,
            epoll,
            connections: Vec::new(),
            buffer: vec![0; READ_BYTES],
            operations: 0,
            errors: 0,
        }
    }

    fn run(&mut self) {
        let began = Instant::now();
        for index in 0..self.options.connections {
            let connection = self.open(index);
            self.connections.push(connection);
        }
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        let tenth = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        while began.elapsed() < self.options.duration && self.errors < MOST_ERRORS {
            let Ok((ready, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&tenth)) else {
                continue;
            };
            for event in ready {
                self.go_on(event.data.u64() as usize);
            }
        }
        let rate = self.operations as f64 / began.elapsed().as_secs_f64();
        println!(
            "operations={} errors={} rate={rate:.0}",
            self.operations, self.errors
        );
    }

    fn go_on(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        match connection.drive(self.options, &mut self.buffer, &mut self.operations) {
            Ok(Step::Wait) => return,
            Ok(Step::End) => self.connections[index]
                .take()
                .into_iter()
                .for_each(Connection::end),
            Err(_) => self.errors += 1,
        }
        self.connections[index] = self.open(index);
    }

    /// Opens connections until one has to wait for its server.
    fn open(&mut self, index: usize) -> Option<Connection> {
        use epoll::EventFlags as On;
        while self.errors < MOST_ERRORS {
            let Ok(mut connection) = Connection::open(self.options) else {
                self.errors += 1;
                continue;
            };
            match connection.drive(self.options, &mut self.buffer, &mut self.operations) {
                Ok(Step::Wait) => {
                    let token = epoll::EventData::new_u64(index as u64);
                    epoll::add(
                        &self.epoll,
                        connection.socket(),
                        token,
                        On::IN | On::OUT | On::ET,
                    )
                    .ok()?;
                    return Some(connection);
                }
                Ok(Step::End) => connection.end(),
                Err(_) => self.errors += 1,
            }
        }
        None
    }
}
