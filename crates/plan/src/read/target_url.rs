//! Reads the URL of a target, and the addresses that stand for its host.

use crate::read::field::Field;
use crate::url::UrlError;
use crate::{Address, Template, Url};

const MAX_ADDRESSES: usize = 1000;

pub(crate) fn url(field: Field<'_>) -> Option<Url> {
    let text = field.text("one such as \"https://edge.test:8443/\"")?;
    let url = match text.parse::<Url>() {
        Ok(url) => url,
        // The value is not quoted, since it may contain a password.
        Err(why @ UrlError::UserInfo) => {
            return report(|| field.problem(format_args!("the URL {why}")));
        }
        Err(why) => return report(|| field.refuse(why)),
    };
    if Template::from(url.path.as_str()).is_literal() {
        return Some(url);
    }
    field.refuse("has a placeholder, which is not filled in here; write it as path in [request]");
    None
}

pub(crate) fn addresses(field: Field<'_>) -> Option<Vec<Address>> {
    let addresses = field.list_of("one such as [\"10.0.0.11\", \"10.0.0.12:8443\"]", |item| {
        item.parse::<Address>("an address such as \"10.0.0.11\"")
    })?;
    if addresses.len() > MAX_ADDRESSES {
        field.problem(format_args!(
            "has {} addresses; write at most {MAX_ADDRESSES}",
            addresses.len()
        ));
        return None;
    }
    Some(addresses)
}

fn report<T>(report: impl FnOnce()) -> Option<T> {
    report();
    None
}
