//! curl, an implementation that shares nothing with ours, agrees with what the target claims to do.

use std::ffi::OsStr;
use std::process::Command;
use target::{
    BodyFraming, CertificateDefect, Config, RunningTarget, ServerTls, TargetAnswer, TargetFault,
};

/// curl's exit code and output; `None` if curl is missing, which fails only in CI.
fn curl(target: &RunningTarget, args: &[&str]) -> Option<(i32, String)> {
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
    for framing in [BodyFraming::ContentLength, BodyFraming::Chunked] {
        for body_bytes in [0, 356, 1_900_000] {
            let answer = TargetAnswer {
                body_bytes,
                framing,
                interim: vec![103],
                ..TargetAnswer::default()
            };
            let target = RunningTarget::new(Config {
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
    let expired = ServerTls {
        certificate_fault: Some(CertificateDefect::Expired),
        ..ServerTls::default()
    };
    let stop = TargetFault::Stop {
        at: target::FaultPlace::BeforeHead,
        then: target::ConnectionEnd::Orderly,
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
                answer: TargetAnswer::faulty(stop),
                ..Config::default()
            },
            52,
        ),
        (
            Config {
                answer: TargetAnswer::faulty(TargetFault::never_answers()),
                ..Config::default()
            },
            28,
        ),
    ];
    for (config, expected) in cases {
        let target = RunningTarget::new(config).unwrap();
        let Some((code, _)) = curl(&target, &["-m", "1", &target.url("/")]) else {
            return;
        };
        assert_eq!(code, expected);
    }
}
