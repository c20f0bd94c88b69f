//! Tells the benches which compiler built them: counts of instructions are only comparable between
//! builds of one.

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
