//! What a service manager such as systemd is told (`Type=notify`, sd_notify(3)). Without one, which
//! `NOTIFY_SOCKET` names, nothing is told. A failure is not reported: its reader would be the
//! manager that cannot be reached.

use sd_notify::{NotifyState, notify};

/// Tells that the command line and the token are right, and that a coordinator is being dialled.
/// [`show`] tells whether one is there: coordinators come and go with their runs, and a machine
/// should not wait for one to boot.
pub(crate) fn tell_ready() {
    let _ = notify(&[NotifyState::Ready]);
}

/// Tells that the agent is about to end.
pub(crate) fn tell_stopping() {
    let _ = notify(&[NotifyState::Stopping]);
}

/// Shows a line as the state of the service. May block as long as the manager takes nothing.
pub(crate) fn show(line: &str) {
    let _ = notify(&[NotifyState::Status(&one_line(line))]);
}

/// Text of other machines must not begin another assignment, such as `MAINPID=1`.
fn one_line(text: &str) -> String {
    text.trim_end().replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn text_of_another_machine_assigns_nothing() {
        assert_eq!(one_line("a\nMAINPID=1\r\tb\n"), "a MAINPID=1  b");
    }
}
