//! A relay to a server: what the server says passes through the hands of a test.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Gives every connection to `serve` with its number, from 0, on a thread of its own, for as long
/// as the test lives.
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

/// Takes what the client says to the server on a thread of its own, and its end too. Until that
/// thread has ended, it holds the client's connection.
pub fn pass_on(client: &TcpStream, server: &TcpStream) -> JoinHandle<()> {
    let (mut client, mut server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut client, &mut server);
        let _ = server.shutdown(Shutdown::Write);
    })
}

/// Gives `take` all that the server says, until it ends or `take` has had enough.
pub fn hear(mut server: &TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(length @ 1..) = server.read(&mut bytes) {
        if !take(&bytes[..length]) {
            return;
        }
    }
}

/// Says all of it, unless the client has gone.
pub fn say(mut client: &TcpStream, bytes: &[u8]) -> bool {
    client.write_all(bytes).is_ok()
}
