//! OCSP responses, made by OpenSSL.

use crate::require;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An OCSP response in DER, valid for a week, written to `folder`, which may contain other files;
/// `None` if OpenSSL is not installed. It is about a certificate that no server has; servers and
/// clients of these tests only staple it and read its times.
///
/// # Panics
/// If OpenSSL cannot make one.
#[must_use]
pub fn ocsp_response(folder: &Path) -> Option<PathBuf> {
    let program = require("openssl")?;
    let openssl = |arguments: &str| {
        let output = Command::new(&program)
            .args(arguments.split(' '))
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "openssl {arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    std::fs::write(folder.join("ocsp.index"), "").unwrap();
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -subj /CN=ocsp -days 7 -keyout ocsp.key -out ocsp.pem",
    );
    openssl(
        "ocsp -index ocsp.index -CA ocsp.pem -rsigner ocsp.pem -rkey ocsp.key -issuer ocsp.pem \
         -serial 1 -ndays 7 -noverify -respout ocsp.der",
    );
    Some(folder.join("ocsp.der"))
}
