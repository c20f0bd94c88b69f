//! WebSockets (RFC 6455): what is sent over one, when, what answers it, and when it is closed.

use crate::grpc::PLACEHOLDER_MARK;
use crate::toml_text::array;
use crate::{Template, duration, quote};
use std::time::Duration;

/// Stands for the number of a message within its socket, from 0, in the texts of a plan.
pub(crate) const MESSAGE_NUMBER: &str = "{message}";
/// What paths of these texts have.
pub(crate) const MESSAGE_PATH: &str = ".websocket.message";

/// A socket that an operation opens, uses and closes.
#[derive(Debug, Clone, PartialEq)]
pub struct WebSocket {
    /// The subprotocols that are offered, by preference.
    pub protocols: Vec<String>,
    /// What is sent, in turn. In literals [`PLACEHOLDER_MARK`] stands for the number of the message
    /// within its socket. Empty if nothing is.
    pub messages: Vec<Template>,
    /// Whether they are sent as binary messages.
    pub is_binary: bool,
    /// Message i is due at the opening and i times this; `None` if each is due when the one before
    /// has its answer.
    pub every: Option<Duration>,
    /// What answers a message.
    pub answer: MessageAnswer,
    /// A ping is sent this long after the opening, and again each time that this has passed; `None`
    /// if none is.
    pub ping: Option<Duration>,
    /// When it is closed.
    pub until: SocketEnd,
}

/// What answers a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageAnswer {
    /// The next message that comes.
    Next,
    /// The next message that is equal.
    Echo,
    /// The next message that has the same value at this JSON pointer (RFC 6901).
    Json(String),
    /// Nothing: messages are only sent.
    Nothing,
}

/// When a socket is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketEnd {
    /// After this number of messages, at least one, and their answers.
    Messages(u32),
    /// This time after its opening.
    Held(Duration),
}

impl WebSocket {
    /// Most messages and pings that are sent over one; infinite if the answers alone say how many.
    pub(crate) fn most_sent(&self) -> f64 {
        let messages = match (self.until, self.every) {
            _ if self.messages.is_empty() => 0.0,
            (SocketEnd::Messages(number), _) => f64::from(number),
            (SocketEnd::Held(time), Some(every)) => {
                (time.as_secs_f64() / every.as_secs_f64()).ceil()
            }
            (SocketEnd::Held(_), None) => f64::INFINITY,
        };
        messages + self.most_pings()
    }

    fn most_pings(&self) -> f64 {
        let Some(ping) = self.ping else {
            return 0.0;
        };
        let seconds = match (self.until, self.every) {
            (SocketEnd::Held(time), _) => time.as_secs_f64(),
            (SocketEnd::Messages(number), Some(every)) => f64::from(number) * every.as_secs_f64(),
            (SocketEnd::Messages(_), None) => f64::INFINITY,
        };
        (seconds / ping.as_secs_f64()).ceil()
    }

    /// The canonical text: an inline table.
    pub(crate) fn canonical(&self) -> String {
        let mut fields = Vec::new();
        if !self.protocols.is_empty() {
            let protocols = array(&self.protocols, |name| quote(name));
            fields.push(format!("protocols = {protocols}"));
        }
        if !self.messages.is_empty() {
            let text = |text: &Template| {
                let text = text.to_string();
                quote(&text.replace(PLACEHOLDER_MARK, MESSAGE_NUMBER))
            };
            fields.push(format!("message = {}", array(&self.messages, text)));
            fields.push(format!("binary = {}", self.is_binary));
            if let Some(every) = self.every {
                fields.push(format!("every = {}", time(every)));
            }
            fields.push(format!("answer = {}", self.answer.canonical()));
        }
        if let Some(ping) = self.ping {
            fields.push(format!("ping = {}", time(ping)));
        }
        fields.push(match self.until {
            SocketEnd::Messages(number) => format!("count = {number}"),
            SocketEnd::Held(time) => format!("hold = {}", self::time(time)),
        });
        format!("{{ {} }}", fields.join(", "))
    }
}

impl MessageAnswer {
    fn canonical(&self) -> String {
        match self {
            MessageAnswer::Next => quote("next"),
            MessageAnswer::Echo => quote("echo"),
            MessageAnswer::Nothing => quote("none"),
            MessageAnswer::Json(pointer) => format!("{{ json = {} }}", quote(pointer)),
        }
    }
}

fn time(time: Duration) -> String {
    quote(&duration::write(time))
}
