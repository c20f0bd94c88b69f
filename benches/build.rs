//! Tells the benches which compiler built them, because instruction counts are only comparable
//! between builds by the same compiler.

fn main() {
    let rustc = std::env::var("RUSTC").expect("cargo names the compiler");
    let said = std::process::Command::new(rustc)
        .arg("--version")
        .output()
        .expect("the compiler that builds this runs");
    let version = String::from_utf8_lossy(&said.stdout);
    println!(
        "cargo::rustc-env=BENCHES_COMPILER={} on {}",
        version.trim(),
        std::env::var("TARGET").unwrap_or_default()
    );
    println!("cargo::rerun-if-changed=build.rs");
}
