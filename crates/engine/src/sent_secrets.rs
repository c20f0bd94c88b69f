//! What a request sends that must not be saved, should its answer repeat it.

use crate::fill::Fill;
use crate::template::ValueSources;
use crate::values::Values;
use measure::GrpcMessages;
use plan::{Plan, SecretTexts};

/// The secrets of one request, ready to be looked for in its answers.
#[derive(Debug)]
pub(crate) struct SentSecrets {
    /// The plan's variables, whichever request sends them.
    variables: SecretTexts,
    /// Each with the header field whose value it is.
    sent: Vec<(Option<&'static str>, Vec<Fill>)>,
}

impl SentSecrets {
    pub(crate) fn new(plan: &Plan, request: &plan::Request, sources: &ValueSources) -> SentSecrets {
        let sent = request.sent_secrets().into_iter().map(|secret| {
            let mut pieces = Vec::new();
            sources.template(secret.text.reveal(), &mut pieces);
            (secret.header, pieces)
        });
        SentSecrets {
            variables: SecretTexts::from_variables(plan),
            sent: sent.collect(),
        }
    }

    /// A text of the answer to the operation with these values, as it may be saved.
    pub(crate) fn mask(&self, values: &Values, text: &str) -> String {
        let mut secrets = self.variables.clone();
        for (header, pieces) in &self.sent {
            let mut sent = Vec::new();
            pieces
                .iter()
                .for_each(|piece| piece.fill(values, &mut sent));
            secrets.add(*header, &String::from_utf8_lossy(&sent));
        }
        // A text that was cut ends with a whole character.
        let is_cut = text.len() + size_of::<char>() > GrpcMessages::TEXT_MAX_BYTES;
        secrets.mask(text, is_cut)
    }
}
