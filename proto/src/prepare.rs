//! What a log may show of an order to prepare: anything but the plan, whose headers may hold
//! secrets.

use crate::Prepare;
use std::fmt;

impl fmt::Debug for Prepare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepare")
            .field("run_id", &self.run_id)
            .field("run_name", &self.run_name)
            .field("plan_digest", &self.plan_digest)
            .field("agent_index", &self.agent_index)
            .field("agents", &self.agents)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{FromCoordinator, Prepare, from_coordinator};

    #[test]
    fn plan_is_not_in_the_debug_text_of_a_message() {
        let prepare = Prepare {
            run_name: "shown".to_owned(),
            plan: "request.headers.cookie = 'secret'".to_owned(),
            ..Prepare::default()
        };
        let message = FromCoordinator {
            message: Some(from_coordinator::Message::Prepare(prepare)),
        };
        let text = format!("{message:#?}");
        assert!(text.contains("shown") && !text.contains("secret"), "{text}");
    }
}
