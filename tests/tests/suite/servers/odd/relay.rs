//! A relay to a server, so that a test can change what the server sends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Passes every connection to `serve` with its number, from 0, on a thread of its own, for as long
/// as the test runs.
pub fn listen(serve: impl Fn(u64, TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = interop::listen([127, 0, 0, 1].into());
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || accept(&listener, &serve));
    address
}

fn accept(listener: &TcpListener, serve: &Arc<impl Fn(u64, TcpStream) + Send + Sync + 'static>) {
    for (number, stream) in (0..).zip(listener.incoming().flatten()) {
        let serve = Arc::clone(serve);
        std::thread::spawn(move || serve(number, stream));
    }
}

/// Forwards the client's bytes to the server on a thread of its own, and closes the connection
/// after them. Until that thread has ended, it holds the client's connection.
pub fn pass_on(client: &TcpStream, server: &TcpStream) -> JoinHandle<()> {
    let (mut client, mut server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut client, &mut server);
        let _ = server.shutdown(Shutdown::Write);
    })
}

/// Passes all of the server's bytes to `take`, until the server closes or `take` returns false.
pub fn hear(mut server: &TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(length @ 1..) = server.read(&mut bytes) {
        if !take(&bytes[..length]) {
            return;
        }
    }
}

/// Sends all of it; returns whether the client is still there.
pub fn say(mut client: &TcpStream, bytes: &[u8]) -> bool {
    client.write_all(bytes).is_ok()
}
