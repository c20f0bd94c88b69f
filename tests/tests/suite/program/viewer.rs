//! A viewer that looks at a run while it goes on.

use crate::program::command::Running;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// Longer than a viewer has to wait for anything.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

impl Running {
    /// The address at which it shows the run, from the first line of its standard error.
    pub fn shown_url(&mut self) -> String {
        let stderr = self.child().stderr.take().unwrap();
        let line = BufReader::new(stderr).lines().next().unwrap().unwrap();
        let (_, url) = line.split_once("http://").unwrap();
        url.to_owned()
    }
}

/// Host and port in a result of [`Running::shown_url`].
pub fn address_in(url: &str) -> &str {
    url.split_once('/').unwrap().0
}

/// Sends a request, and returns the connection.
pub fn begin(address: &str, request: &str, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Head and body of the answer.
pub fn ask(address: &str, request: &str, host: &str) -> (String, String) {
    let mut answer = String::new();
    begin(address, request, host)
        .read_to_string(&mut answer)
        .unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}
