//! Completions and manual pages of both programs.

use interop::{binary, require_optional};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const PROGRAMS: [&str; 2] = ["coordinator", "agent"];

fn run(program: impl AsRef<Path>, arguments: &[&str]) -> Output {
    let mut command = Command::new(program.as_ref());
    command
        .args(arguments)
        .env("MANWIDTH", "80")
        .env("LC_ALL", "C.UTF-8");
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[track_caller]
fn text(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The scripts that the programs print for a shell, each in a file.
fn scripts(shell: &str) -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = PROGRAMS.map(|program| {
        let path = folder.path().join(program);
        let script = text(run(binary(program), &["completions", shell]));
        std::fs::write(&path, script).unwrap();
        path
    });
    (folder, paths)
}

/// What bash offers for the last word, when called as bash calls completions: the function that the
/// script has registered, with the line in `COMP_WORDS`.
fn completed(script: &Path, words: &[&str]) -> Vec<String> {
    let ask = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        registered=$(complete -p "$1")
        function=$(sed 's/.* -F \([^ ]*\) .*/\1/' <<< "$registered")
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut arguments = vec!["-c", ask, "bash", script.to_str().unwrap()];
    arguments.extend(words);
    let offered = text(run("bash", &arguments));
    offered.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_words() {
    let (_folder, [coordinator, agent]) = scripts("bash");
    for script in [&coordinator, &agent] {
        text(run("bash", &["-n", script.to_str().unwrap()]));
    }
    assert_eq!(completed(&coordinator, &["coordinator", "st"]), ["start"]);
    let hidden = completed(&coordinator, &["coordinator", ""]);
    for word in ["man", "agent", "target"] {
        assert!(!hidden.contains(&word.to_owned()), "{hidden:?}");
    }
    let flags = completed(&coordinator, &["coordinator", "start", "--lo"]);
    assert_eq!(flags, ["--local"]);
    let shells = completed(&coordinator, &["coordinator", "completions", "f"]);
    assert_eq!(shells, ["fish"]);
    assert_eq!(completed(&agent, &["agent", "j"]), ["join"]);
    assert_eq!(completed(&agent, &["agent", "join", "--wo"]), ["--workers"]);
}

/// If a shell is not installed, its script is only searched for the commands.
#[test]
fn every_shell_gets_a_script_that_it_reads() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (_folder, paths) = scripts(shell);
        for (path, command) in paths.iter().zip(["start", "join"]) {
            let script = std::fs::read_to_string(path).unwrap();
            assert!(script.contains(command), "{shell}: {script}");
            let reads = ["bash", "zsh", "fish"].contains(&shell);
            if reads && require_optional(shell).is_some() {
                text(run(shell, &["-n", path.to_str().unwrap()]));
            }
        }
    }
}

#[test]
fn every_command_has_a_page_that_the_manual_shows() {
    let folder = tempfile::tempdir().unwrap();
    for program in PROGRAMS {
        let place = folder.path().join("man1");
        text(run(binary(program), &["man", place.to_str().unwrap()]));
    }
    let pages = std::fs::read_dir(folder.path().join("man1")).unwrap();
    let mut pages: Vec<PathBuf> = pages.map(|page| page.unwrap().path()).collect();
    pages.sort();
    let name = |page: &PathBuf| page.file_name().unwrap().to_str().unwrap().to_owned();
    let names: Vec<String> = pages.iter().map(name).collect();
    for page in [
        "agent.1",
        "agent-join.1",
        "coordinator.1",
        "coordinator-start.1",
    ] {
        assert!(names.contains(&page.to_owned()), "{names:?}");
    }
    assert!(
        !names.contains(&"coordinator-target.1".to_owned()),
        "{names:?}"
    );
    for page in pages.iter().map(|page| page.to_str().unwrap()) {
        if require_optional("man").is_some() {
            let shown = run("man", &["--warnings", "-l", page]);
            let warnings = String::from_utf8_lossy(&shown.stderr).into_owned();
            assert_eq!(warnings, "", "{page}");
            assert!(text(shown).contains("SYNOPSIS"), "{page}");
        }
        if require_optional("mandoc").is_some() {
            text(run("mandoc", &["-Tlint", "-Werror", page]));
        }
    }
}
