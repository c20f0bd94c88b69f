//! A run as a person at a terminal sees it, by tmux: while it goes on, after its end, stopped by a
//! key, and in another size.

use interop::{Tmux, binary, wait_until};
use target::{Config, RunningTarget};

/// Writes a plan to the terminal's folder, and returns the command line for it.
fn plan(tmux: &Tmux, server: &RunningTarget, seconds: u32) -> String {
    let load = format!("{{ connections = 2, duration = \"{seconds}s\", think_time = \"5ms\" }}");
    let plan = format!(
        "name = \"edge\"\ntarget.url = {:?}\nload = {load}\nfleet.lease = \"60s\"\n",
        server.url("/")
    );
    std::fs::write(tmux.folder().join("plan.toml"), plan).unwrap();
    let coordinator = binary("coordinator");
    let start = "start --local --agents 2 --format brief";
    format!("{} {start} plan.toml", coordinator.display())
}

/// The panel while it fires, once it has members.
fn firing(tmux: &Tmux) -> String {
    let mut last = String::new();
    wait_until("a panel with members", || {
        last = tmux.screen();
        let has_all = ["p99", "CPU", "left"]
            .iter()
            .all(|word| last.contains(word));
        has_all.then(|| last.clone())
    })
}

/// Waits for the end of a command, and asserts that nothing of the panel is left above it.
fn ended(tmux: &Tmux, code: i32) -> String {
    let all = tmux.end(code);
    let is_of_panel = |line: &&str| {
        line.starts_with("p99") || line.contains(" firing ") || line.starts_with("edge  ")
    };
    assert_eq!(all.lines().find(is_of_panel), None, "{all}");
    all
}

#[test]
fn panel_is_there_while_the_run_goes_on_and_nothing_of_it_after() {
    for (columns, rows) in [(80, 24), (200, 50)] {
        let Some(tmux) = Tmux::start(columns, rows) else {
            return;
        };
        let server = RunningTarget::new(Config::plain()).unwrap();
        let line = plan(&tmux, &server, 20);
        tmux.run(&line);
        let screen = firing(&tmux);
        // If it is wide enough, agents are beside the figures.
        let is_beside = |line: &str| line.starts_with("edge  ") && line.contains("local-");
        let is_wide = screen.lines().any(is_beside);
        assert_eq!(is_wide, columns == 200, "{screen}");
        assert_eq!(screen.matches("p99").count(), 1, "{screen}");
        let all = ended(&tmux, 0);
        assert!(all.contains("joined (2 of 2)"), "{all}");
        assert!(all.contains("saved in"), "{all}");
    }
}

#[test]
fn panel_is_drawn_once_in_a_terminal_that_changes_its_size() {
    let Some(tmux) = Tmux::start(80, 24) else {
        return;
    };
    let server = RunningTarget::new(Config::plain()).unwrap();
    let line = plan(&tmux, &server, 20);
    tmux.run(&line);
    firing(&tmux);
    for columns in [44, 200, 60] {
        tmux.resize(columns, 24);
        let mut last = String::new();
        // It may be in the middle of redrawing.
        wait_until("one panel", || {
            last = tmux.screen();
            let is_one = ["p50", "p99", "errors"]
                .iter()
                .all(|word| last.matches(word).count() == 1);
            is_one.then_some(())
        });
    }
    ended(&tmux, 0);
}

#[test]
fn key_in_the_middle_stops_the_run_and_the_summary_stands_below() {
    let Some(tmux) = Tmux::start(80, 24) else {
        return;
    };
    let server = RunningTarget::new(Config::plain()).unwrap();
    let line = plan(&tmux, &server, 60);
    tmux.run(&line);
    firing(&tmux);
    tmux.key("C-c");
    let all = ended(&tmux, 130);
    assert!(all.contains("stopping; once more stops at once"), "{all}");
    assert!(all.contains("saved in"), "{all}");
}

#[test]
fn whole_screen_is_given_back_with_what_stood_there() {
    for key in [None, Some("C-c")] {
        let Some(tmux) = Tmux::start(80, 24) else {
            return;
        };
        let server = RunningTarget::new(Config::plain()).unwrap();
        tmux.line("echo before");
        tmux.wait_for("\nbefore");
        let line = plan(&tmux, &server, if key.is_some() { 60 } else { 20 });
        tmux.run(&format!("{line} --tui"));
        let screen = firing(&tmux);
        assert!(screen.starts_with("edge  "), "{screen}");
        assert!(!screen.contains("before"), "{screen}");
        assert!(screen.contains("joined (2 of 2)"), "{screen}");
        key.into_iter().for_each(|key| tmux.key(key));
        let all = ended(&tmux, if key.is_some() { 130 } else { 0 });
        let place = |words: &str| all.find(words).unwrap_or_else(|| panic!("{words}: {all}"));
        assert!(place("\nbefore") < place("joined (2 of 2)"), "{all}");
        assert!(place("joined (2 of 2)") < place("saved in"), "{all}");
    }
}

#[test]
fn whole_screen_is_given_back_while_the_program_is_stopped() {
    let Some(tmux) = Tmux::start(80, 24) else {
        return;
    };
    let server = RunningTarget::new(Config::plain()).unwrap();
    tmux.line("echo before");
    tmux.wait_for("\nbefore");
    let line = plan(&tmux, &server, 60);
    tmux.line(&format!("{line} --tui"));
    firing(&tmux);
    tmux.key("C-z");
    let screen = tmux.wait_for("\nbefore");
    assert!(!screen.contains("p99"), "{screen}");
    tmux.line("fg");
    let screen = tmux.wait_for("p99");
    assert!(screen.starts_with("edge  "), "{screen}");
    tmux.key("C-c");
    tmux.wait_for("saved in");
}

#[test]
fn step_of_a_search_stands_in_the_panel_with_what_is_known() {
    let Some(tmux) = Tmux::start(80, 24) else {
        return;
    };
    let server = RunningTarget::new(Config::plain()).unwrap();
    let line = plan(&tmux, &server, 1);
    let search = "load = { max_connections = 20 }\nthresholds.\"errors.share\" = \"<= 50%\"\n\
                  search = { rate = { from = \"20/s\", to = \"100/s\" }, hold = \"2s\" }\n";
    let text = format!("target.url = {:?}\n{search}", server.url("/"));
    std::fs::write(tmux.folder().join("plan.toml"), text).unwrap();
    tmux.run(&line);
    tmux.wait_for("search: hold 1 at 80/s\n");
    // On a busy machine the client may limit the first hold.
    let has_second = wait_until("the second hold, or the end", || {
        let screen = tmux.screen();
        let is_second = screen.contains("search: hold 2 at 100/s, 80/s passed");
        (is_second || tmux.exit_code().is_some()).then_some(is_second)
    });
    tmux.key("C-c");
    wait_until("the end", || tmux.exit_code());
    let all = tmux.history();
    let has_passed = all.contains("hold 1: 80/s passed");
    assert_eq!(has_second, has_passed, "{all}");
    assert!(!all.contains("search: hold"), "{all}");
}
