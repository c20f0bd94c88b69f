//! `--set`: values for the variables of a plan.

use clap::Args;
use std::collections::BTreeMap;

/// Values for the variables of a plan, as typed.
#[derive(Debug, Default, Args)]
pub struct SetArgs {
    /// Value for a variable that the plan declares below vars; can be repeated. Other users of
    /// this machine can see it: let the plan take a secret from the environment
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, String)>,
}

impl SetArgs {
    /// The values by name.
    ///
    /// # Errors
    /// One is given twice.
    pub(crate) fn values(&self) -> Result<BTreeMap<String, String>, String> {
        let mut values = BTreeMap::new();
        for (name, value) in &self.set {
            if values.insert(name.clone(), value.clone()).is_some() {
                return Err(format!("--set {name} is given twice; give it once"));
            }
        }
        Ok(values)
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("write NAME=VALUE, such as site=https://edge.test")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_all_behind_the_first_sign() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(name_and_value("a=b=c"), pair("a", "b=c"));
        assert_eq!(name_and_value("a="), pair("a", ""));
        assert!(name_and_value("a").is_err() && name_and_value("=a").is_err());
    }

    #[test]
    fn name_that_is_given_twice_is_refused() {
        let set = ["a=1", "b=2", "a=3"].map(|text| name_and_value(text).unwrap());
        let args = SetArgs { set: set.to_vec() };
        assert_eq!(
            args.values().unwrap_err(),
            "--set a is given twice; give it once"
        );
    }
}
