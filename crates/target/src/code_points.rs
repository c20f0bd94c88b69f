//! The cipher suites and groups that can be asked for, as a message lists them.

use rustls::crypto::aws_lc_rs;

pub(crate) fn known_suites() -> String {
    list(
        aws_lc_rs::ALL_CIPHER_SUITES
            .iter()
            .map(|suite| (u16::from(suite.suite()), format!("{:?}", suite.suite()))),
    )
}

pub(crate) fn known_groups() -> String {
    list(
        aws_lc_rs::ALL_KX_GROUPS
            .iter()
            .map(|group| (u16::from(group.name()), format!("{:?}", group.name()))),
    )
}

fn list(items: impl Iterator<Item = (u16, String)>) -> String {
    items
        .map(|(code, name)| format!("{code:#06x} ({name})"))
        .collect::<Vec<_>>()
        .join(", ")
}
