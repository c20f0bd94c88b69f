//! A relay that carries a limited number of bytes per second each way, with as much room before it
//! as sockets have.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Bytes that are carried at once.
const PIECE_BYTES: usize = 512;

/// Starts the relay. Returns the address to dial instead of `to`.
pub async fn relay(to: SocketAddr, bytes_per_second: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(to).await.unwrap();
            let (near_in, near_out) = near.into_split();
            let (far_in, far_out) = far.into_split();
            tokio::spawn(carry(near_in, far_out, bytes_per_second));
            tokio::spawn(carry(far_in, near_out, bytes_per_second));
        }
    });
    address
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, bytes_per_second: u32) {
    let mut piece = [0; PIECE_BYTES];
    let mut free_at = Instant::now();
    while let Ok(bytes @ 1..) = from.read(&mut piece).await {
        let takes = Duration::from_secs(bytes as u64) / bytes_per_second;
        free_at = free_at.max(Instant::now()) + takes;
        tokio::time::sleep_until(free_at).await;
        if to.write_all(&piece[..bytes]).await.is_err() {
            return;
        }
    }
}
