//! Decides who may join, by a CA and a secret: made once in the coordinator's state folder, or in
//! memory for agents on this machine.

use super::authority::{AuthorityError, FleetAuthority};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use control::{Digest, JoinSecret, Token};
use rustls::ServerConfig;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The only file of the state folder, so that it can be made in one step.
const FILE: &str = "enrolment.json";

/// Far more than the file ever has.
const FILE_MAX_BYTES: u64 = 64 << 10;

const VERSION: u32 = 1;

/// The identity that agents know this coordinator by, and the secret that it knows them by.
#[derive(Debug)]
pub struct Enrolment {
    token: Token,
    tls: Arc<ServerConfig>,
}

impl Enrolment {
    /// Makes a new enrolment that ends with this process, for `--local`.
    ///
    /// # Errors
    /// There is no source of randomness.
    pub fn in_memory() -> Result<Enrolment, EnrolmentError> {
        Material::new()?.enrol().map_err(EnrolmentError::Make)
    }

    /// Opens the enrolment of a state folder. The folder is made if there is none (mode 0700), and
    /// so is the enrolment in it (mode 0600). Two coordinators that begin at once agree on one.
    ///
    /// # Errors
    /// The folder cannot be used, others may read the file, or its content is not what was written.
    pub fn open(folder: &Path) -> Result<Enrolment, EnrolmentError> {
        let path = folder.join(FILE);
        match read(&path) {
            Ok(Some(text)) => parse(&text, &path)?
                .enrol()
                .map_err(|error| broken(&path, &error)),
            Ok(None) => {
                create(folder, &path)?;
                // Another coordinator may have been faster; then its enrolment is used.
                let text = read(&path)?.ok_or_else(|| EnrolmentError::Read {
                    path: path.clone(),
                    error: vanished(),
                })?;
                parse(&text, &path)?
                    .enrol()
                    .map_err(|error| broken(&path, &error))
            }
            Err(error) => Err(error),
        }
    }

    /// The token that agents need.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    pub(super) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls)
    }
}

/// Why there is no enrolment.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    /// It could not be made.
    #[error("cannot make the coordinator's certificates: {0}")]
    Make(AuthorityError),
    /// The folder or the file could not be written.
    #[error(
        "cannot write {}: {error}; name a folder that this user may write by --state",
        path.display()
    )]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file could not be read.
    #[error(
        "cannot read {}: {error}; name a folder that this user may read by --state",
        path.display()
    )]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Others may read the file, and could pose as the coordinator.
    #[error(
        "{} may be read by others (mode {mode:04o}), and it holds the fleet's secret; chmod 600 \
         it, or remove it and hand out the new token",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file is not what was written.
    #[error(
        "{} is broken: {why}; bring it back from a copy, or remove it and hand out the new token \
         to every agent",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The parts of an enrolment, as stored in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Material {
    version: u32,
    /// The CA itself, in PEM.
    ca_certificate: String,
    /// PEM, PKCS #8.
    ca_key: String,
    /// base64url of 32 bytes.
    secret: String,
}

impl Material {
    fn new() -> Result<Material, EnrolmentError> {
        let authority = FleetAuthority::new().map_err(EnrolmentError::Make)?;
        let secret = secret::random::<32>().map_err(not_made)?;
        let (ca_certificate, ca_key) = authority.to_pem();
        Ok(Material {
            version: VERSION,
            ca_certificate,
            ca_key,
            secret: URL_SAFE_NO_PAD.encode(secret),
        })
    }

    fn enrol(self) -> Result<Enrolment, AuthorityError> {
        let authority = FleetAuthority::from_pem(&self.ca_certificate, &self.ca_key)?;
        let secret = URL_SAFE_NO_PAD
            .decode(self.secret)
            .ok()
            .and_then(|bytes| bytes.try_into().ok());
        let secret = JoinSecret::new(secret.ok_or(AuthorityError::Secret)?);
        let token = Token::new(Digest::from_content(authority.certificate()).0, secret);
        Ok(Enrolment {
            token,
            tls: Arc::new(authority.server_config()?),
        })
    }
}

/// Whether a file of `owner` with these permission bits can be read by others than `reader`, both
/// user ids.
///
/// root may lend it to a group: a secret that Kubernetes mounts for a user without rights is so. It
/// is the rule that PostgreSQL has for its keys.
fn may_be_read_by_others(mode: u32, owner: u32, reader: u32) -> bool {
    let is_lent = owner == 0 && reader != 0;
    mode & if is_lent { 0o037 } else { 0o077 } != 0
}

/// Reads the file's text; `None` if there is no file.
fn read(path: &Path) -> Result<Option<String>, EnrolmentError> {
    let failed = |error| EnrolmentError::Read {
        path: path.to_owned(),
        error,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    let mode = metadata.permissions().mode() & 0o7777;
    let reader = rustix::process::geteuid().as_raw();
    if may_be_read_by_others(mode, metadata.uid(), reader) {
        return Err(EnrolmentError::Open {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    file.take(FILE_MAX_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => broken(path, &"it is not text"),
            _ => failed(error),
        })?;
    Ok(Some(text))
}

fn parse(text: &str, path: &Path) -> Result<Material, EnrolmentError> {
    let material: Material = serde_json::from_str(text).map_err(|error| broken(path, &error))?;
    if material.version != VERSION {
        return Err(broken(
            path,
            &format!(
                "it is of version {}, and this program reads version {VERSION}",
                material.version
            ),
        ));
    }
    Ok(material)
}

/// Writes a new enrolment under another name and links it into place, so that it appears whole and
/// replaces none.
fn create(folder: &Path, path: &Path) -> Result<(), EnrolmentError> {
    let failed = |error| EnrolmentError::Write {
        path: path.to_owned(),
        error,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let text =
        serde_json::to_string_pretty(&Material::new()?).expect("texts and a number serialise");
    let unique: [u8; 8] = secret::random().map_err(not_made)?;
    let draft = folder.join(format!(".{FILE}.{:016x}", u64::from_be_bytes(unique)));
    let linked = write_draft(&draft, &text).and_then(|()| fs::hard_link(&draft, path));
    let removed = fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
        _ => removed.map_err(failed),
    }
}

fn write_draft(draft: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn not_made(error: secret::NoRandomness) -> EnrolmentError {
    EnrolmentError::Make(error.into())
}

fn broken(path: &Path, why: &dyn std::fmt::Display) -> EnrolmentError {
    EnrolmentError::Broken {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

fn vanished() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        "it was removed right after it was made",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn later_start_serves_the_token_of_the_first() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let first = Enrolment::open(&folder).unwrap();
        assert_eq!(Enrolment::open(&folder).unwrap().token(), first.token());
        assert_eq!((mode(&folder), mode(&folder.join(FILE))), (0o700, 0o600));
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "no draft is left behind"
        );
    }

    #[test]
    fn coordinators_that_begin_at_once_agree_on_one_token() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Enrolment::open(folder.path()).unwrap().token().clone();
        let tokens: Vec<Token> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }

    #[test]
    fn each_enrolment_in_memory_has_a_token_of_its_own() {
        assert_ne!(
            Enrolment::in_memory().unwrap().token(),
            Enrolment::in_memory().unwrap().token()
        );
    }

    #[test]
    fn broken_file_is_told_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        Enrolment::open(folder.path()).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        let other_key = FleetAuthority::new().unwrap().to_pem().1;
        let mut swapped: serde_json::Value = serde_json::from_str(&whole).unwrap();
        swapped["ca_key"] = other_key.into();
        let cases = [
            (String::new(), "EOF"),
            (whole[..whole.len() / 2].to_owned(), "EOF"),
            (
                whole.replace("\"version\": 1", "\"version\": 2"),
                "version 2",
            ),
            (whole.replace("BEGIN", "BEGUN"), "certificate"),
            (whole.replace("\"secret\": \"", "\"secret\": \"A"), "secret"),
            (swapped.to_string(), "do not belong together"),
        ];
        for (text, why) in cases {
            fs::write(&path, &text).unwrap();
            let error = Enrolment::open(folder.path()).unwrap_err().to_string();
            assert!(
                error.contains(why) && error.contains(FILE) && error.contains("remove it"),
                "{why}: {error}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        Enrolment::open(folder.path()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Enrolment::open(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("0644") && error.contains("chmod 600"),
            "{error}"
        );
    }

    #[test]
    fn group_may_read_what_root_lends_to_it() {
        let (root, user) = (0, 1_000);
        for (mode, owner, reader, expected) in [
            (0o600, user, user, false),
            (0o640, user, user, true),
            (0o400, root, root, false),
            (0o440, root, root, true),
            (0o440, root, user, false),
            (0o460, root, user, true),
            (0o444, root, user, true),
        ] {
            let open = may_be_read_by_others(mode, owner, reader);
            assert_eq!(open, expected, "{mode:o} {owner} {reader}");
        }
    }

    #[test]
    fn folder_that_cannot_be_written_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Enrolment::open(&file.path().join("state"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--state"), "{error}");
    }
}
