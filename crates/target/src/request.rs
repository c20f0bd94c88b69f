//! Reads a request's head, as far as an answer depends on it.

use httparse::{EMPTY_HEADER, Status};

/// More headers than any client of ours sends; the 65th is refused.
const MAX_HEADERS: usize = 64;

/// What an answer depends on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IncomingRequest {
    pub is_head: bool,
    /// The client wants the connection closed after the answer.
    pub close: bool,
    /// Bytes of the body that follows the head.
    pub body_bytes: u64,
    /// The body follows only after a `100 Continue`.
    pub waits_for_continue: bool,
    /// Which answer, by path.
    pub answer: usize,
}

/// What the bytes so far are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestHead {
    /// Not a whole head yet.
    Partial,
    /// A whole head, and its length in bytes.
    Whole(IncomingRequest, usize),
    /// Not one this server understands; the status says why.
    Bad(u16),
}

/// Reads a head from the start of `bytes`; `answer` finds the answer of a path.
pub(crate) fn read_head(bytes: &[u8], answer: impl FnOnce(&str) -> usize) -> RequestHead {
    if bytes.is_empty() {
        return RequestHead::Partial;
    }
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(Status::Partial) => RequestHead::Partial,
        Ok(Status::Complete(length)) => understand(&head, answer)
            .map_or_else(RequestHead::Bad, |request| {
                RequestHead::Whole(request, length)
            }),
        Err(httparse::Error::TooManyHeaders) => RequestHead::Bad(431),
        Err(_) => RequestHead::Bad(400),
    }
}

fn understand(
    head: &httparse::Request<'_, '_>,
    answer: impl FnOnce(&str) -> usize,
) -> Result<IncomingRequest, u16> {
    let mut request = IncomingRequest {
        is_head: head.method == Some("HEAD"),
        close: head.version == Some(0),
        body_bytes: 0,
        waits_for_continue: false,
        answer: answer(head.path.unwrap_or_default()),
    };
    let mut has_host = head.version == Some(0);
    for header in head.headers.iter() {
        // By length first: most headers of a request are none of these.
        match header.name.len() {
            4 if header.name.eq_ignore_ascii_case("host") => has_host = true,
            6 if header.name.eq_ignore_ascii_case("expect") => request.waits_for_continue = true,
            10 if header.name.eq_ignore_ascii_case("connection") => {
                request.close |= has_token(header.value, "close")
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                request.body_bytes = length(header.value)?
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => return Err(411),
            _ => {}
        }
    }
    // RFC 9112 §3.2: a request of HTTP/1.1 without Host is a bad one.
    if has_host { Ok(request) } else { Err(400) }
}

fn has_token(value: &[u8], token: &str) -> bool {
    value
        .split(|&byte| byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

fn length(value: &[u8]) -> Result<u64, u16> {
    let digits = std::str::from_utf8(value).map_err(|_| 400_u16)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().map_err(|_| 400)
    } else {
        Err(400)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RequestHead {
        read_head(text.as_bytes(), |path| usize::from(path == "/other"))
    }

    #[test]
    fn what_an_answer_depends_on_is_read() {
        let text = "HEAD /other HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\ncontent-length: \
                    7\r\nExpect: 100-continue\r\n\r\nbody";
        let request = IncomingRequest {
            is_head: true,
            close: true,
            body_bytes: 7,
            waits_for_continue: true,
            answer: 1,
        };
        assert_eq!(read(text), RequestHead::Whole(request, text.len() - 4));
    }

    #[test]
    fn http_1_0_closes_and_needs_no_host() {
        let RequestHead::Whole(request, _) = read("GET / HTTP/1.0\r\n\r\n") else {
            panic!("is a request")
        };
        assert!(request.close && request.answer == 0);
    }

    #[test]
    fn unfit_requests_get_their_status() {
        let cases = [
            ("", RequestHead::Partial),
            ("GET / HTTP/1.1\r\nHost:", RequestHead::Partial),
            ("GET / HTTP/1.1\r\n\r\n", RequestHead::Bad(400)),
            ("\x16\x03\x01 this is TLS", RequestHead::Bad(400)),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                RequestHead::Bad(400),
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
                RequestHead::Bad(411),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
        let many = format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "x: y\r\n".repeat(MAX_HEADERS)
        );
        assert_eq!(read(&many), RequestHead::Bad(431));
    }
}
