//! `key_exchange = "cheap"`: the server does all of its work, the client almost none.
//!
//! This deliberately gives up the secrecy of a load test's own connections. It is never meant for
//! real data; results obtained with it say so.

mod hybrid;
mod reused_ml_kem;
mod reused_x25519;
mod unit_curve;

use hybrid::{Hybrid, Layout};
use reused_ml_kem::ReusedMlKem;
use reused_x25519::ReusedX25519;
use rustls::crypto::SupportedKxGroup;
use rustls::{Error, NamedGroup};
use std::sync::{Mutex, PoisonError};
use unit_curve::UnitCurve;

/// The cheap form of a group; `None` if it has none. rustls wants groups that are `'static`, so
/// each is created once per process and shared by all workers and runs.
pub(crate) fn group(name: NamedGroup) -> Result<Option<&'static dyn SupportedKxGroup>, Error> {
    static GROUPS: Mutex<Vec<&'static dyn SupportedKxGroup>> = Mutex::new(Vec::new());
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = groups.iter().find(|known| known.name() == name) {
        return Ok(Some(*known));
    }
    let made = make(name)?;
    groups.extend(made);
    Ok(made)
}

fn make(name: NamedGroup) -> Result<Option<&'static dyn SupportedKxGroup>, Error> {
    Ok(Some(match name {
        NamedGroup::secp256r1 => &UnitCurve::P256,
        NamedGroup::secp384r1 => &UnitCurve::P384,
        NamedGroup::X25519 => leak(ReusedX25519::new()?),
        NamedGroup::MLKEM768 => leak(ReusedMlKem::new_768()?),
        NamedGroup::MLKEM1024 => leak(ReusedMlKem::new_1024()?),
        NamedGroup::X25519MLKEM768 => leak(Hybrid::new(
            name,
            Layout::KemFirst,
            leak(ReusedX25519::new()?),
            leak(ReusedMlKem::new_768()?),
        )?),
        NamedGroup::secp256r1MLKEM768 => leak(Hybrid::new(
            name,
            Layout::KemLast,
            &UnitCurve::P256,
            leak(ReusedMlKem::new_768()?),
        )?),
        _ => return Ok(None),
    }))
}

fn leak<T>(group: T) -> &'static T {
    Box::leak(Box::new(group))
}

#[cfg(test)]
mod tests {
    use super::group;
    use ::aws_lc_rs::agreement::{ECDH_P256, ECDH_P384, PrivateKey};
    use rustls::NamedGroup;
    use rustls::crypto::{SupportedKxGroup, aws_lc_rs};

    /// rustls's own group, as a server uses it.
    fn fresh(name: NamedGroup) -> &'static dyn SupportedKxGroup {
        aws_lc_rs::ALL_KX_GROUPS
            .iter()
            .find(|group| group.name() == name)
            .copied()
            .expect("rustls has it")
    }

    #[test]
    fn every_group_of_a_plan_agrees_with_a_careful_server_on_a_secret_each_time() {
        for wanted in plan::Group::ALL {
            let name = NamedGroup::from(wanted.code);
            let cheap = group(name).unwrap().expect("each has a cheap form");
            assert_eq!(cheap.name(), name);
            let secrets: Vec<Vec<u8>> = (0..2)
                .map(|_| {
                    let ours = cheap.start().unwrap();
                    assert_eq!(ours.group(), name);
                    let server = fresh(name).start_and_complete(ours.pub_key()).unwrap();
                    let secret = ours.complete(&server.pub_key).unwrap();
                    assert_eq!(
                        secret.secret_bytes(),
                        server.secret.secret_bytes(),
                        "{}",
                        wanted.name
                    );
                    secret.secret_bytes().to_vec()
                })
                .collect();
            assert_ne!(
                secrets[0], secrets[1],
                "{}: the server's share is new each time",
                wanted.name
            );
        }
    }

    #[test]
    fn another_worker_or_run_makes_no_group_anew() {
        for wanted in plan::Group::ALL {
            let name = NamedGroup::from(wanted.code);
            let [first, again] = [(); 2].map(|()| group(name).unwrap().unwrap());
            assert!(std::ptr::addr_eq(first, again), "{}", wanted.name);
            let elsewhere = std::thread::spawn(move || group(name).unwrap().unwrap());
            let elsewhere = elsewhere.join().unwrap();
            assert!(std::ptr::addr_eq(first, elsewhere), "{}", wanted.name);
        }
    }

    /// Servers can have a table of the generator's multiples: OpenJDK 25 then needs a third of the
    /// time.
    #[test]
    fn no_curve_is_offered_its_own_generator() {
        for (name, algorithm, bytes) in [
            (NamedGroup::secp256r1, &ECDH_P256, 32),
            (NamedGroup::secp384r1, &ECDH_P384, 48),
        ] {
            let mut one = vec![0; bytes];
            one[bytes - 1] = 1;
            let generator = PrivateKey::from_private_key(algorithm, &one)
                .unwrap()
                .compute_public_key()
                .unwrap();
            let ours = group(name).unwrap().unwrap().start().unwrap();
            assert_ne!(ours.pub_key(), generator.as_ref(), "{name:?}");
        }
    }

    #[test]
    fn classical_part_of_a_hybrid_can_be_taken_alone() {
        for (hybrid, classical) in [
            (NamedGroup::X25519MLKEM768, NamedGroup::X25519),
            (NamedGroup::secp256r1MLKEM768, NamedGroup::secp256r1),
        ] {
            let ours = group(hybrid).unwrap().unwrap().start().unwrap();
            let (name, share) = ours.hybrid_component().expect("it is offered beside");
            assert_eq!(name, classical);
            let server = fresh(classical).start_and_complete(share).unwrap();
            let secret = ours.complete_hybrid_component(&server.pub_key).unwrap();
            assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
        }
    }

    #[test]
    fn share_of_the_wrong_form_is_refused() {
        for wanted in plan::Group::ALL {
            let name = NamedGroup::from(wanted.code);
            for share in [&[][..], &[0; 32], &[4; 66], &[0; 1200]] {
                let ours = group(name).unwrap().unwrap().start().unwrap();
                assert!(
                    ours.complete(share).is_err(),
                    "{}: {} bytes",
                    wanted.name,
                    share.len()
                );
            }
        }
    }
}
