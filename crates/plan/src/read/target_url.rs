//! Reads the URL of a target.

use crate::read::field::Field;
use crate::url::UrlError;
use crate::{Template, Url};

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

fn report<T>(report: impl FnOnce()) -> Option<T> {
    report();
    None
}
