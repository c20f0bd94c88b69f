//! The committed code matches `control.proto`.
//! `WRITE_GENERATED=1 cargo test -p proto` writes it instead of comparing it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

const FILE: &str = "cannonade.control.v1.rs";
const SERVICE_ONLY: &str = "#[cfg(feature = \"service\")]";

#[test]
fn committed_code_is_what_the_proto_file_generates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let generated = generate(root);
    let committed = root.join("src").join(FILE);
    if std::env::var_os("WRITE_GENERATED").is_some() {
        std::fs::write(&committed, &generated).unwrap();
    }
    assert!(
        std::fs::read_to_string(&committed).unwrap_or_default() == generated,
        "src/{FILE} differs from what control.proto generates; run `WRITE_GENERATED=1 cargo test \
         -p proto`"
    );
}

fn generate(root: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let descriptors = protox::compile(["control.proto"], [root]).unwrap();
    tonic_prost_build::configure()
        .bytes(".")
        .skip_debug([
            "cannonade.control.v1.FilePart",
            "cannonade.control.v1.Prepare",
            "cannonade.control.v1.RunToken",
        ])
        .client_mod_attribute(".", SERVICE_ONLY)
        .server_mod_attribute(".", SERVICE_ONLY)
        .out_dir(folder.path())
        .compile_fds(descriptors)
        .unwrap();
    std::fs::read_to_string(folder.path().join(FILE)).unwrap()
}
