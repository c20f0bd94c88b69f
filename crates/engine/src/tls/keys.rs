//! The secrets of a worker's handshakes as rustls reports them, in NSS's format, which Wireshark
//! reads. Only if the plan and the agent want them.

use crate::key_log::{KeySink, OperationEnding};
use rustls::KeyLog;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, MutexGuard};

/// Secrets of one worker's handshakes. A stream takes those of its own handshake, and keeps them
/// until it is known whether they are wanted.
pub(crate) struct Keys {
    sink: KeySink,
    // Only one thread ever locks it; rustls wants Sync.
    lines: Mutex<String>,
}

impl Keys {
    pub(crate) fn new(sink: KeySink) -> Keys {
        Keys {
            sink,
            lines: Mutex::default(),
        }
    }

    /// Moves the lines logged since the last call to the end of `lines`.
    pub(crate) fn take(&self, lines: &mut String) {
        let mut said = self.lock();
        if lines.is_empty() {
            std::mem::swap(lines, &mut said);
        } else {
            lines.push_str(&said);
        }
        said.clear();
    }

    /// Handles the end of an operation on the connection with these `lines`: if the plan wants them
    /// they are written, and `lines` is empty afterwards. A connection that never had a secret has
    /// nothing to write.
    pub(crate) fn judge(&self, lines: &mut String, ending: OperationEnding) {
        if !lines.is_empty() && self.sink.wants(ending) {
            self.sink.give(std::mem::take(lines));
        }
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.lines
            .lock()
            .expect("no thread panics while it holds a worker's secrets")
    }
}

impl KeyLog for Keys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut lines = self.lock();
        // Each call adds one complete line, so that the lines of several workers can be mixed.
        lines.push_str(label);
        lines.push(' ');
        push_hex(&mut lines, client_random);
        lines.push(' ');
        push_hex(&mut lines, secret);
        lines.push('\n');
    }

    fn will_log(&self, _: &str) -> bool {
        self.sink.is_open()
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
}

/// Shows none of the secrets.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::KeyLog as Wanted;

    #[test]
    fn a_line_is_label_random_and_secret_in_hexadecimal_digits() {
        let path = std::env::temp_dir().join(format!("keys-line-{}", std::process::id()));
        let (_file, sink) = crate::key_log::open(Wanted::All, Some(&path))
            .unwrap()
            .unwrap();
        let keys = Keys::new(sink);
        let mut lines = String::new();
        keys.log("CLIENT_RANDOM", &[0xab, 0x01], &[0x00, 0xff]);
        keys.take(&mut lines);
        keys.log("EXPORTER_SECRET", &[0xab], &[0x10]);
        keys.take(&mut lines);
        assert_eq!(lines, "CLIENT_RANDOM ab01 00ff\nEXPORTER_SECRET ab 10\n");
        keys.judge(&mut lines, OperationEnding::Failed);
        assert_eq!(lines, "", "they are handed over once");
    }
}
