//! curl, an implementation that shares nothing with ours, agrees with what the target claims to do.

use std::ffi::OsStr;
use std::process::Command;
use target::{Answer, CertificateFault, Config, Fault, Framing, Running, Tls};

/// curl's exit code and output; none where curl is missing, which fails only in CI.
fn curl(target: &Running, args: &[&str]) -> Option<(i32, String)> {
    let ca = std::env::temp_dir().join(format!("cannonade-target-{}.pem", target.address().port()));
    std::fs::write(&ca, target.ca_pem().unwrap()).unwrap();
    let fixed = ["-sS", "-m", "10", "--cacert"].map(OsStr::new);
    let output = Command::new("curl")
        .args(fixed)
        .arg(&ca)
        .args(args)
        .output();
    std::fs::remove_file(&ca).unwrap();
    match output {
        Ok(output) => Some((
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )),
        Err(error) => {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "curl cannot be run: {error}"
            );
            println!("skipped: curl cannot be run: {error}");
            None
        }
    }
}

#[test]
fn curl_reads_every_framing_and_reuses_the_connection() {
    for framing in [Framing::ContentLength, Framing::Chunked] {
        for body_bytes in [0, 356, 1_900_000] {
            let answer = Answer {
                body_bytes,
                framing,
                interim: vec![103],
                ..Answer::default()
            };
            let target = Running::new(Config {
                answer,
                ..Config::default()
            })
            .unwrap();
            let (url, format) = (
                target.url("/"),
                "%{http_code} %{size_download} %{num_connects}\n",
            );
            let args = [
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                "-w",
                format,
                &url,
                &url,
            ];
            let Some((code, output)) = curl(&target, &args) else {
                return;
            };
            assert_eq!(
                (code, output),
                (0, format!("200 {body_bytes} 1\n200 {body_bytes} 0\n"))
            );
            let counts = target.stop();
            assert_eq!(
                (
                    counts.connections,
                    counts.requests,
                    counts.response_payload_bytes
                ),
                (1, 2, 2 * body_bytes)
            );
        }
    }
}

#[test]
fn curl_sees_the_faults() {
    // Exit codes of curl(1): 28 time-out, 52 empty answer, 60 certificate.
    let expired = Tls {
        certificate_fault: Some(CertificateFault::Expired),
        ..Tls::default()
    };
    let stop = Fault::Stop {
        at: target::Place::BeforeHead,
        then: target::Ending::Orderly,
    };
    let cases = [
        (
            Config {
                tls: Some(expired),
                ..Config::default()
            },
            60,
        ),
        (
            Config {
                answer: Answer::faulty(stop),
                ..Config::default()
            },
            52,
        ),
        (
            Config {
                answer: Answer::faulty(Fault::never_answers()),
                ..Config::default()
            },
            28,
        ),
    ];
    for (config, expected) in cases {
        let target = Running::new(config).unwrap();
        let Some((code, _)) = curl(&target, &["-m", "1", &target.url("/")]) else {
            return;
        };
        assert_eq!(code, expected);
    }
}
