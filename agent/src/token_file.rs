//! Reads a token from a file that the coordinator may still have to write.

use crate::news;
use anyhow::{Context as _, bail};
use control::Token;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the file is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns the token in `file`, after waiting for it to exist and not to be empty. `coordinator`
/// puts it there whole.
///
/// # Errors
/// If it does not come in time, cannot be read, or is not a token.
pub(crate) fn read(file: &Path, wait: Duration) -> anyhow::Result<Token> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        let text = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("reading the token from {}", file.display()))?,
        };
        if !text.trim().is_empty() {
            let token = text.trim().parse();
            return token.with_context(|| format!("in the file {}", file.display()));
        }
        if begun.elapsed() >= wait {
            bail!(
                "no token in {} after {} s; `coordinator start --token-file` or `coordinator \
                 token --file` writes it",
                file.display(),
                wait.as_secs()
            );
        }
        if !std::mem::replace(&mut is_told, true) {
            let file = file.display();
            let seconds = wait.as_secs();
            news::say(format_args!(
                "waiting for the token in {file}, for at most {seconds} s"
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::fs;
    use std::time::Duration;

    const TOKEN: &str = "cnn1_";

    #[test]
    fn file_that_is_not_there_yet_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        // The file is created before it is written, as a shell does.
        fs::write(&path, "").unwrap();
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || read(&path, Duration::from_secs(600)))
        };
        let draft = folder.path().join("draft");
        fs::write(&draft, format!("{TOKEN}\n")).unwrap();
        fs::rename(&draft, &path).unwrap();
        let error = waiting.join().unwrap().unwrap_err();
        let told = format!("{error:#}");
        assert!(
            told.contains("in the file") && told.contains("token: "),
            "{told}"
        );
    }

    #[test]
    fn file_that_never_comes_is_told_with_what_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let told = read(&path, Duration::ZERO).unwrap_err().to_string();
        assert!(told.contains("coordinator start --token-file"), "{told}");
        let told = format!("{:#}", read(folder.path(), Duration::ZERO).unwrap_err());
        assert!(told.contains("reading the token"), "{told}");
    }
}
