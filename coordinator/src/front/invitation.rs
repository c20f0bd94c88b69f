//! Tells the user how agents on other machines join: at which address, with which token.

use crate::job::agents_in_words;
use crate::launch::JoinOptions;
use crate::machine_name::public_address;
use control::Token;
use std::net::SocketAddr;

/// The command for each load machine. It has the token itself only if a person reads it: CI logs
/// are kept, and read by many.
pub(super) fn write(
    options: &JoinOptions,
    address: SocketAddr,
    token: &Token,
    agents: u32,
    is_shown: bool,
) -> String {
    let (by, about) = match &options.token_file {
        Some(file) => (
            format!("--token-file {}", file.display()),
            "\n(with a copy of that file; it is a secret)".to_owned(),
        ),
        None if is_shown => (format!("--token {}", token.reveal()), String::new()),
        None => ("--token-file FILE".to_owned(), unshown(options)),
    };
    let place = if address.ip().is_loopback() {
        "on this machine"
    } else {
        "on each load machine"
    };
    format!(
        "waiting for {} on {address}; {place}:\n  agent join {} {by}{about}",
        agents_in_words(agents),
        public_address(address)
    )
}

/// How to get a token that is not printed.
fn unshown(options: &JoinOptions) -> String {
    let state = if command_line::state_folder().as_ref() == Some(&options.state) {
        String::new()
    } else {
        format!("--state {} ", options.state.display())
    };
    format!(
        "\n(standard error is no terminal, so the token is not printed: `coordinator token \
         {state}--file FILE` writes it)"
    )
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::fleet::Enrolment;
    use crate::launch::JoinOptions;

    #[test]
    fn token_is_shown_to_a_person_only() {
        let enrolment = Enrolment::in_memory().unwrap();
        let token = enrolment.token();
        let options = |token_file: Option<&str>| JoinOptions {
            address: "0.0.0.0:7711".parse().unwrap(),
            state: "own state".into(),
            token_file: token_file.map(Into::into),
        };
        let address = "10.0.0.1:7711".parse().unwrap();
        let told = |file, is_shown| write(&options(file), address, token, 2, is_shown);
        assert!(told(None, true).contains(&format!(":7711 --token {}", token.reveal())));
        let unshown = told(None, false);
        assert!(
            unshown.contains("agent join 10.0.0.1:7711 --token-file FILE")
                && unshown.contains("`coordinator token --state own state --file FILE`"),
            "{unshown}"
        );
        for told in [unshown, told(Some("t"), true), told(Some("t"), false)] {
            assert!(!told.contains("cnn1_"), "{told}");
        }
    }
}
