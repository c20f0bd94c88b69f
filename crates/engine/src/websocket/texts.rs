//! The messages of a request as bytes, or as the pieces that they are made from.

use crate::fill::{Fill, constant};
use crate::template::ValueSources;
use crate::values::Values;
use plan::{PLACEHOLDER_MARK, Piece, Template, WebSocket};
use std::io::Write as _;

/// What is sent over the sockets of a request, in turn.
#[derive(Debug)]
pub(crate) struct SocketTexts {
    texts: Vec<SocketText>,
    pub(crate) is_binary: bool,
}

#[derive(Debug)]
enum SocketText {
    Fixed(Vec<u8>),
    /// The number of the message stands between these.
    Pieces {
        parts: Vec<Vec<Fill>>,
        has_time: bool,
    },
}

impl SocketTexts {
    /// The messages of `socket`; `None` if nothing is sent over it.
    pub(crate) fn new(socket: &WebSocket, sources: &ValueSources) -> Option<Box<SocketTexts>> {
        let texts = socket.messages.iter();
        let texts: Vec<SocketText> = texts.map(|text| SocketText::new(text, sources)).collect();
        (!texts.is_empty()).then(|| {
            Box::new(SocketTexts {
                texts,
                is_binary: socket.is_binary,
            })
        })
    }

    /// Appends message `number` of a socket, from 0, to `out`. `values` is asked only if it has
    /// placeholders.
    #[inline]
    pub(crate) fn write(&self, number: u32, values: impl FnOnce() -> Values, out: &mut Vec<u8>) {
        match &self.texts[number as usize % self.texts.len()] {
            SocketText::Fixed(bytes) => out.extend_from_slice(bytes),
            SocketText::Pieces { parts, has_time } => {
                let values = values().at_once(*has_time);
                for (place, part) in parts.iter().enumerate() {
                    if place > 0 {
                        // Writing to a `Vec` cannot fail.
                        let _ = write!(out, "{number}");
                    }
                    part.iter().for_each(|piece| piece.fill(&values, out));
                }
            }
        }
    }
}

impl SocketText {
    fn new(text: &Template, sources: &ValueSources) -> SocketText {
        let mut parts: Vec<Vec<Piece>> = vec![Vec::new()];
        for piece in &text.pieces {
            let Piece::Literal(literal) = piece else {
                parts.last_mut().expect("it has one").push(piece.clone());
                continue;
            };
            for (place, part) in literal.split(PLACEHOLDER_MARK).enumerate() {
                if place > 0 {
                    parts.push(Vec::new());
                }
                let part = Piece::Literal(part.into());
                parts.last_mut().expect("it has one").push(part);
            }
        }
        let filled = |pieces: Vec<Piece>| {
            let mut fills = Vec::new();
            sources.template(&Template { pieces }, &mut fills);
            fills
        };
        let parts: Vec<Vec<Fill>> = parts.into_iter().map(filled).collect();
        let fixed = match &*parts {
            [only] => constant(only, usize::MAX),
            _ => None,
        };
        match fixed {
            Some(bytes) => SocketText::Fixed(bytes),
            None => SocketText::Pieces {
                has_time: text.has_time(),
                parts,
            },
        }
    }
}
