//! Outputs that do not accept any more of what a program prints.

use crate::partitions::each;
use crate::partitions::field::Field;
use interop::{LinkQuality, Process, binary, ensure};
use std::process::Command;

/// Where an agent's standard error goes, in shell syntax.
const PLACES: [&str; 3] = ["2>&1 | head -1", "2>/dev/full", "2>&-"];

#[test]
fn agent_whose_words_nobody_takes_serves_its_run_to_the_end() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    each(
        &PLACES,
        |place| (*place).to_owned(),
        |place| {
            let field = Field::new(LinkQuality::default()).unwrap();
            let load = "rate = \"40/s\", max_connections = 8, duration = \"3s\"";
            let invited = field.invite(1, &field.plan(load, "fleet.max_skew = \"1s\"\n"));
            let agent = binary("agent");
            let line = format!(
                "exec {} join {} --name a --once {place}",
                agent.display(),
                invited.address
            );
            let folder = tempfile::tempdir().unwrap();
            let mut shell: Command = field.link.command();
            shell
                .args(["sh", "-c", &line])
                .env("CANNONADE_TOKEN", &invited.token);
            let shell = Process::start(&mut shell, &folder.path().join("said"));
            let finished = invited.coordinator.wait();
            let all = || format!("{finished}\n{}", shell.output());
            ensure(
                finished.code == 0
                    && finished.clean().document().measured.operations.ok == 120
                    && field.requests() == 120,
                all,
            )
        },
    );
}
