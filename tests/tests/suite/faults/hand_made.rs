//! An agent made by hand, byte by byte, which can send what ours never would. TLS is that of
//! `openssl s_client`, HTTP/2 is written by hand (RFC 9113), and headers are literal (RFC 7541,
//! section 6.2.2).

use proto::Message as _;
use proto::{FromAgent, FromCoordinator, Hello, Refused, from_agent, from_coordinator};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_HEADERS: u8 = 4;

/// A stream to a coordinator that accepted its token.
pub struct Attached {
    client: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Attached {
    /// Attaches to a coordinator; `None` if openssl is not installed.
    pub fn new(coordinator: SocketAddr, token: &str) -> Option<Attached> {
        let program = interop::require("openssl")?;
        let mut command = Command::new("timeout");
        command.arg("15").arg(program).args([
            "s_client",
            "-quiet",
            "-alpn",
            "h2",
            "-connect",
            &coordinator.to_string(),
        ]);
        let mut client = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
        let mut attached = Attached { client, to, from };
        attached.to.write_all(PREFACE).unwrap();
        attached.send(SETTINGS, 0, 0, &[]);
        let token: control::Token = token.parse().unwrap();
        attached.send(HEADERS, END_HEADERS, 1, &headers(&token.secret().bearer()));
        Some(attached)
    }

    /// Sends a hello.
    pub fn say(&mut self, hello: &Hello) {
        let message = FromAgent {
            message: Some(from_agent::Message::Hello(hello.clone())),
        }
        .encode_to_vec();
        // gRPC framing: not compressed, length, message.
        let mut frame = vec![0];
        frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        frame.extend(message);
        self.send(DATA, 0, 1, &frame);
    }

    /// The coordinator's reason for refusing this agent.
    pub fn refusal(&mut self) -> Refused {
        loop {
            let (kind, payload) = self.receive();
            if kind != DATA || payload.is_empty() {
                continue;
            }
            match FromCoordinator::decode(&payload[5..]).unwrap().message {
                Some(from_coordinator::Message::Refused(refused)) => return refused,
                other => panic!("the coordinator says {other:?}"),
            }
        }
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.to.write_all(&[&head, payload].concat()).unwrap();
        self.to.flush().unwrap();
    }

    /// The next frame: its type and its payload. Panics when `timeout` ends the client.
    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 9];
        self.from.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.from.read_exact(&mut payload).unwrap();
        (head[3], payload)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Both fail only if it has ended and been reaped. `timeout` ends the client with it.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.client),
            rustix::process::Signal::TERM,
        );
        let _ = self.client.wait();
    }
}

fn headers(authorization: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/cannonade.control.v1.Control/Attach"),
        (":authority", "coordinator.cannonade"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", authorization),
    ];
    fields
        .into_iter()
        .flat_map(|(name, value)| [&[0][..], &text(name), &text(value)].concat())
        .collect()
}

/// A string without Huffman code.
fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len())
        .ok()
        .filter(|length| *length < 127)
        .expect("short enough for one byte");
    [&[length], text.as_bytes()].concat()
}
