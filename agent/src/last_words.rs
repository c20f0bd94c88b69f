//! What a load thread said when it died of a defect. The agents of a local run have no log that
//! their user sees, so the run's result says it.

use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on, keeps what a load thread says when it panics; it is printed all the same.
pub(crate) fn keep() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if thread::current()
            .name()
            .is_some_and(engine::is_worker_thread)
        {
            *last() = Some(panic.to_string());
        }
        before(panic);
    }));
}

/// Takes what the load thread that died last has said, on one line.
pub(crate) fn take() -> Option<String> {
    let words = last().take()?;
    Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text is whole even if a thread panicked.
fn last() -> MutexGuard<'static, Option<String>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_load_threads_are_kept_and_once() {
        keep();
        let die = |name: &str| {
            let thread = thread::Builder::new().name(name.to_owned());
            let died = thread.spawn(|| panic!("a seat is\nempty")).unwrap().join();
            assert!(died.is_err());
        };
        die("other");
        assert_eq!(take(), None);
        die("worker-0");
        let words = take().expect("its last words");
        assert!(
            words.starts_with("panicked at agent/src/last_words.rs:"),
            "{words}"
        );
        assert!(words.ends_with(": a seat is empty"), "{words}");
        assert_eq!(take(), None);
    }
}
