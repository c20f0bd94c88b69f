//! Keys of AWS, with which requests are signed.

use crate::Template;
use secret::Secret;

/// The names of S3, whose paths are encoded once, and which wants the hash of the body in a field:
/// its buckets, access points, outposts and directory buckets.
const S3: [&str; 4] = ["s3", "s3-object-lambda", "s3-outposts", "s3express"];

/// Credentials that requests are signed with for AWS. Their texts are the same for every operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsCredentials {
    /// Region of the service, such as `eu-west-1`.
    pub region: String,
    /// The service's name in signatures, such as `s3`.
    pub service: String,
    /// The key's identifier.
    pub access_key: Secret<Template>,
    /// The key.
    pub secret_key: Secret<Template>,
    /// The token of credentials that expire.
    pub session_token: Option<Secret<Template>>,
}

impl AwsCredentials {
    /// Whether the service's paths are encoded once.
    pub(crate) fn is_encoded_once(&self) -> bool {
        S3.contains(&self.service.as_str())
    }

    /// The texts that may have secret variables.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let keys = [&self.access_key, &self.secret_key].into_iter();
        keys.chain(&self.session_token).map(Secret::reveal)
    }
}
