//! A TCP relay that can cut what goes through it.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Proxy {
    pub address: SocketAddr,
    cuts: watch::Sender<u32>,
}

impl Proxy {
    pub async fn start(to: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (cuts, cut) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, to, cut.clone()));
            }
        });
        Proxy { address, cuts }
    }

    /// Ends every connection that is open now.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn relay(mut near: TcpStream, to: SocketAddr, mut cut: watch::Receiver<u32>) {
    cut.mark_unchanged();
    let Ok(mut far) = TcpStream::connect(to).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = cut.changed() => {}
    }
}
