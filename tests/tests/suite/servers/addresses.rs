//! Two nginx behind one plan with two addresses: the result says which of them accepted what, and
//! agrees with their logs.

use crate::servers::{REQUESTS, run};
use analysis::{Document, SessionOffers};
use interop::{Nginx, NginxOptions, NginxServer, Pki, plan};
use std::net::{IpAddr, Ipv4Addr};

const SERVERS: [NginxServer; 2] = [NginxServer::Tls12Tickets, NginxServer::Tls13Tickets];

fn start(pki: &Pki, last: u8, key: u8) -> Option<Nginx> {
    let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    Nginx::start(
        pki,
        &NginxOptions {
            ip,
            ticket_key: Some([key; 80]),
            ..NginxOptions::default()
        },
    )
}

fn run_over(both: &[Nginx; 2], server: NginxServer, pki: &Pki) -> Document {
    let addresses = both
        .each_ref()
        .map(|nginx| nginx.address(server).to_string());
    let sections = format!(
        "target.addresses = {addresses:?}\ntls.resumption = \"always\"\ntls.server_name = \
         \"localhost\"\nconnection.requests = 1\n"
    );
    run(&plan("https://localhost/", pki, &sections))
}

#[test]
fn each_address_says_what_its_server_logs_with_one_ticket_key_and_with_two() {
    let pki = Pki::new();
    for server in SERVERS {
        for keys in [[7, 7], [7, 8]] {
            let (Some(first), Some(second)) = (start(&pki, 1, keys[0]), start(&pki, 2, keys[1]))
            else {
                return;
            };
            let both = [first, second];
            let document = run_over(&both, server, &pki);
            let mut refused = 0;
            for nginx in &both {
                let group = document
                    .by_address
                    .iter()
                    .find(|group| group.name == nginx.address(server).to_string())
                    .unwrap();
                let (figures, counted) = (&group.figures, &group.figures.resumption);
                let rows = nginx.wait_for_requests(figures.operations.ended as usize);
                let resumed = rows.iter().filter(|row| row.resumed).count() as u64;
                assert_eq!(
                    rows.len() as u64,
                    figures.operations.ended,
                    "{server:?} {keys:?}"
                );
                assert_eq!(
                    (counted.resumed, counted.accepted),
                    (resumed, resumed),
                    "{server:?} {keys:?}"
                );
                assert_eq!(counted.offered, counted.accepted + counted.refused);
                assert_eq!(nginx.status().accepted, figures.connections.opened);
                refused += counted.refused;
            }
            assert_eq!(
                document
                    .by_address
                    .iter()
                    .map(|group| group.figures.operations.ended)
                    .sum::<u64>(),
                REQUESTS
            );
            println!(
                "{server:?}, ticket keys {keys:?}: {} offered, {refused} refused",
                document.measured.resumption.offered
            );
            assert_eq!(document.measured.resumption.refused, refused);
            check_matrix(&document, keys[0] == keys[1]);
        }
    }
}

/// Each address accepts what it has issued itself, and what the other has issued if both have the
/// same key.
fn check_matrix(document: &Document, one_key: bool) {
    let offers = &document.session_offers;
    assert_eq!(
        offers.iter().map(|pair| pair.offered).sum::<u64>(),
        document.measured.resumption.offered
    );
    assert_eq!(
        offers.iter().map(|pair| pair.accepted).sum::<u64>(),
        document.measured.resumption.accepted
    );
    assert!(
        offers.iter().any(|pair| !pair.is_own()),
        "addresses are taken in turn: {offers:?}"
    );
    for pair in offers {
        assert_eq!(
            pair.accepted,
            if pair.is_own() || one_key {
                pair.offered
            } else {
                0
            },
            "{pair:?}"
        );
    }
    assert_eq!(
        document
            .notes
            .iter()
            .any(|note| note.contains("ticket keys")),
        !one_key && offers.iter().any(SessionOffers::is_own)
    );
}
