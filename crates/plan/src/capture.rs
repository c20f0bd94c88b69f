//! Texts that are taken from answers, for later requests of the same journey.

use crate::words::{Words as _, words};
use crate::{Capturer, HtmlElement, ScalarType, quote};
use data::Escape;
use std::fmt;
use std::sync::Arc;

/// A text that is taken from those answers to a request that are ok.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Its name in placeholders.
    pub name: Arc<str>,
    /// Its place among all captured texts of the plan: captures of one name share it.
    pub index: u16,
    /// Where it is found.
    pub from: CapturePlace,
    /// Which one, if there are several.
    pub pick: CapturePick,
    /// What becomes of an operation whose answer does not have it.
    pub missing: MissingCapture,
    /// The types of the number fields of gRPC messages in which it stands. A text that is no number
    /// of each of them is not taken.
    pub numbers: Vec<ScalarType>,
}

/// Where a captured text is found.
#[derive(Debug, Clone, PartialEq)]
pub enum CapturePlace {
    /// The value of a header field of this name, in lower case.
    Header(String),
    /// The value of a cookie of this name that the answer sets.
    Cookie(String),
    /// The values in the JSON of the body that this pointer (RFC 6901) leads to, where a part `*`
    /// stands for every element. Texts, numbers, `true` and `false` are values.
    Json(String),
    /// The first group of this expression in the body, or all that matches if it has no group.
    Matches(Capturer),
    /// The values of this attribute, in lower case, of such elements of the page in the body.
    Html {
        /// Which elements.
        element: HtmlElement,
        /// The attribute's name.
        attribute: String,
    },
}

/// Which of several texts is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePick {
    /// The first one.
    First,
    /// The last one.
    Last,
    /// Any, by the journey's random numbers.
    Random,
}

words!(CapturePick { First => "first", Last => "last", Random => "random" });

/// What becomes of an operation whose answer lacks a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingCapture {
    /// It has failed, and with it the journey.
    Fail,
    /// Nothing: the journey goes on with the text that it had before, if any.
    Skip,
}

words!(MissingCapture { Fail => "fail", Skip => "skip" });

/// A captured text in a template: `{NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturePlaceholder {
    /// Its name.
    pub name: Arc<str>,
    /// Its place among all captured texts of the plan.
    pub index: u16,
    /// How it is written.
    pub escape: Escape,
    /// The plan asks for the text as it is: `{NAME|raw}`.
    pub is_raw: bool,
}

impl Capture {
    /// Longest text that is taken, in bytes. A longer one is treated as missing.
    pub const MAX_BYTES: usize = 4096;

    /// Whether it is looked for in the body.
    #[must_use]
    pub fn is_of_body(&self) -> bool {
        match self.from {
            CapturePlace::Header(_) | CapturePlace::Cookie(_) => false,
            CapturePlace::Json(_) | CapturePlace::Matches(_) | CapturePlace::Html { .. } => true,
        }
    }

    /// Whether the whole body has to be kept to find it.
    #[must_use]
    pub fn is_of_whole_body(&self) -> bool {
        matches!(self.from, CapturePlace::Json(_) | CapturePlace::Matches(_))
    }

    /// What is wrong with an answer without it.
    #[must_use]
    pub fn failure(&self) -> String {
        let name = &self.name;
        match &self.from {
            CapturePlace::Header(field) => format!("header {field} has no {name}"),
            CapturePlace::Cookie(cookie) => format!("cookie {cookie} is not set, for {name}"),
            CapturePlace::Json(pointer) => format!("JSON {pointer} has no {name}"),
            CapturePlace::Matches(_) => format!("body has no match for {name}"),
            CapturePlace::Html { element, attribute } => {
                format!("HTML {element} has no {attribute}, for {name}")
            }
        }
    }

    /// The canonical text: an inline table.
    pub(crate) fn canonical(&self) -> String {
        let from = match &self.from {
            CapturePlace::Header(name) => format!("header = {}", quote(name)),
            CapturePlace::Cookie(name) => format!("cookie = {}", quote(name)),
            CapturePlace::Json(pointer) => format!("json = {}", quote(pointer)),
            CapturePlace::Matches(capturer) => format!("matches = {}", quote(capturer.text())),
            CapturePlace::Html { element, attribute } => {
                let element = quote(&element.to_string());
                format!("html = {element}, attribute = {}", quote(attribute))
            }
        };
        let (pick, missing) = (quote(self.pick.word()), quote(self.missing.word()));
        format!("{{ {from}, pick = {pick}, missing = {missing} }}")
    }
}

impl fmt::Display for CapturePlaceholder {
    /// The placeholder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.is_raw { "|raw" } else { "" };
        write!(f, "{{{}{raw}}}", self.name)
    }
}
