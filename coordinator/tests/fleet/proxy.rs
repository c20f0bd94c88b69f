//! A TCP relay that can cut what goes through it.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Proxy {
    pub address: SocketAddr,
    cuts: watch::Sender<u32>,
}

impl Proxy {
    pub async fn start(to: SocketAddr) -> Proxy {
        Proxy::narrow(to, u32::MAX).await
    }

    /// A relay that carries `bytes_per_second` to `to`; the other direction is as fast as it can
    /// be.
    pub async fn narrow(to: SocketAddr, bytes_per_second: u32) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (cuts, cut) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, to, bytes_per_second, cut.clone()));
            }
        });
        Proxy { address, cuts }
    }

    /// Ends every connection that is open now.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn relay(
    near: TcpStream,
    to: SocketAddr,
    bytes_per_second: u32,
    mut cut: watch::Receiver<u32>,
) {
    cut.mark_unchanged();
    let Ok(far) = TcpStream::connect(to).await else {
        return;
    };
    let ((near_out, mut near_in), (mut far_out, far_in)) = (near.into_split(), far.into_split());
    tokio::select! {
        _ = carry(near_out, far_in, bytes_per_second) => {}
        _ = tokio::io::copy(&mut far_out, &mut near_in) => {}
        _ = cut.changed() => {}
    }
}

/// Carries bytes until either side ends.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    bytes_per_second: u32,
) -> std::io::Result<()> {
    let mut bytes = [0; 8 << 10];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..read]).await?;
        if bytes_per_second < u32::MAX {
            tokio::time::sleep(Duration::from_secs(read as u64) / bytes_per_second).await;
        }
    }
}
