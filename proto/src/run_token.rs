//! What a log may show of a token: anything but its text.

use crate::RunToken;
use std::fmt;

impl fmt::Debug for RunToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunToken")
            .field("run_id", &self.run_id)
            .field("place", &self.place)
            .field("ends", &self.ends)
            .field("left_ns", &self.left_ns)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{FromCoordinator, RunToken, from_coordinator};

    #[test]
    fn text_of_a_token_is_not_in_its_debug_text() {
        let token = RunToken {
            place: 77,
            text: "secret".to_owned(),
            ..RunToken::default()
        };
        let message = FromCoordinator {
            message: Some(from_coordinator::Message::Token(token)),
        };
        let text = format!("{message:#?}");
        assert!(text.contains("77") && !text.contains("secret"), "{text}");
    }
}
