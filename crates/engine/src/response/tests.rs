use super::*;

/// Feeds `bytes` in pieces of `step`. Returns status, body bytes, whether whole, and bytes taken.
fn read(
    bytes: &[u8],
    step: usize,
    head_only: bool,
) -> Result<(Option<u16>, u64, bool, usize), Unreadable> {
    let mut response = ResponseParser::default();
    response.expect(head_only);
    let mut taken = 0;
    for piece in bytes.chunks(step) {
        let now = response.feed(piece)?;
        taken += now;
        if now < piece.len() {
            break;
        }
    }
    Ok((
        response.status,
        response.body_bytes,
        response.is_whole(),
        taken,
    ))
}

#[test]
fn framings_are_read_in_pieces_of_any_size() {
    let cases: [(&[u8], u16, u64, usize); 9] = [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            200,
            5,
            0,
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhelloHTTP",
            200,
            5,
            4,
        ),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            404,
            0,
            0,
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, 0),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
            304,
            0,
            0,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
            200,
            15,
            0,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            1\r\nx\r\n0\r\nTrailer: a\r\nB: c\r\n\r\nnext",
            200,
            1,
            4,
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            200,
            1,
            0,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            200,
            0,
            0,
        ),
    ];
    for (bytes, status, body, extra) in cases {
        for step in [1, 2, 3, 7, bytes.len()] {
            let text = String::from_utf8_lossy(bytes);
            let expected = (Some(status), body, true, bytes.len() - extra);
            let (status, body, whole, taken) = read(bytes, step, false).expect(&text);
            if step == 1 || step == bytes.len() {
                assert_eq!((status, body, whole, taken), expected, "{text} by {step}");
            }
            assert!(whole, "{text} by {step}");
        }
    }
}

#[test]
fn known_heads_mean_what_they_meant() {
    let five: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let fifty: &[u8] = b"HTTP/1.1 404 OK\r\nContent-Length: 50\r\n\r\n";
    let last: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let interim: &[u8] =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut response = ResponseParser::default();
    for (bytes, head_only, whole) in [
        (five, false, true),
        (five, false, true),
        (five, false, true),
        (&five[..38], true, true),
        (&five[..38], true, true),
        (five, false, true),
        (interim, false, true),
        (fifty, false, false),
        (fifty, false, false),
        (five, false, true),
        (last, false, true),
        (last, false, true),
    ] {
        response.expect(head_only);
        let mut alone = ResponseParser::default();
        alone.expect(head_only);
        assert_eq!(response.feed(bytes), alone.feed(bytes));
        let figures = |response: &ResponseParser| {
            (
                response.answer(),
                response.is_whole(),
                response.in_body(),
                response.keep_alive,
            )
        };
        assert_eq!(figures(&response), figures(&alone));
        assert_eq!(response.is_whole(), whole);
    }
    assert_eq!(
        response.known.bytes,
        last[..last.len() - 5],
        "the last head is the known one"
    );
}

#[test]
fn head_request_has_no_body() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
    assert_eq!(
        read(bytes, bytes.len(), true),
        Ok((Some(200), 0, true, bytes.len()))
    );
}

#[test]
fn body_without_length_ends_with_the_connection() {
    let mut response = ResponseParser::default();
    response.expect(false);
    response
        .feed(b"HTTP/1.1 200 OK\r\n\r\nabc")
        .expect("a legal response");
    assert!(!response.is_whole() && !response.keep_alive);
    assert!(response.ended());
    assert_eq!(response.body_bytes, 3);
}

#[test]
fn short_body_is_not_whole_at_the_end() {
    let mut response = ResponseParser::default();
    response.expect(false);
    response
        .feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        .expect("a legal head");
    assert!(response.in_body() && !response.ended());
}

#[test]
fn connection_fields_decide_about_reuse() {
    let cases: [(&[u8], bool); 4] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo, Close\r\n\r\n",
            false,
        ),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        (
            b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
    ];
    for (bytes, keep_alive) in cases {
        let mut response = ResponseParser::default();
        response.expect(false);
        response.feed(bytes).expect("a legal response");
        assert_eq!(
            response.keep_alive,
            keep_alive,
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn broken_framing_is_refused() {
    let cases: [&[u8]; 10] = [
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ];
    for bytes in cases {
        for step in [1, bytes.len()] {
            assert_eq!(
                read(bytes, step, false),
                Err(BadFraming),
                "{} by {step}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

/// A legal head of `fields` fields, each with a value of `length` bytes.
fn head_of(fields: usize, length: usize) -> Vec<u8> {
    let mut head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n".to_vec();
    (0..fields)
        .for_each(|number| head.extend(format!("X-{number}: {}\r\n", "v".repeat(length)).bytes()));
    head.extend_from_slice(b"\r\n");
    head
}

#[test]
fn head_that_comes_byte_by_byte_costs_what_its_bytes_cost() {
    let bytes = [head_of(100, 600), b"ok".to_vec()].concat();
    let cost = |bytes: &[u8]| {
        let began = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        assert_eq!(read(bytes, 1, false), Ok((Some(200), 2, true, bytes.len())));
        let ended = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        (ended.tv_sec - began.tv_sec) * 1_000_000_000 + ended.tv_nsec - began.tv_nsec
    };
    let small = [head_of(10, 600), b"ok".to_vec()].concat();
    let (small, large) = (cost(&small).min(cost(&small)), cost(&bytes));
    assert!(
        large < small * 40,
        "10 times the bytes: {small} ns, then {large} ns"
    );
}

#[test]
fn what_other_clients_take_is_valid() {
    let cases: [(&str, Vec<u8>); 5] = [
        ("250 fields", head_of(250, 10)),
        ("a head of 100 KB", head_of(50, 2000)),
        (
            "a folded field",
            b"HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length:\r\n\t2\r\n\r\n".to_vec(),
        ),
        (
            "HTTP/1.2",
            b"HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\n".to_vec(),
        ),
        (
            "HTTP/1.9 behind an empty line",
            b"\r\nHTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\n".to_vec(),
        ),
    ];
    for (what, head) in cases {
        let bytes = [head, b"ok".to_vec()].concat();
        for step in [1, 700, bytes.len()] {
            assert_eq!(
                read(&bytes, step, false),
                Ok((Some(200), 2, true, bytes.len())),
                "{what} by {step}"
            );
        }
    }
}

#[test]
fn endless_head_and_chunk_lines_are_refused() {
    let mut response = ResponseParser::default();
    response.expect(false);
    response.feed(b"HTTP/1.1 200 OK\r\n").expect("a beginning");
    let refused = (0..10_000).find_map(|_| {
        response
            .feed(b"X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
            .err()
    });
    assert_eq!(refused, Some(TooLarge));
    response.expect(false);
    response
        .feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;")
        .expect("a beginning");
    let refused = (0..10_000).find_map(|_| {
        response
            .feed(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
            .err()
    });
    assert_eq!(refused, Some(TooLarge));
}

#[test]
fn empty_lines_before_a_head_are_passed_over_and_bounded() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for lines in [&b"\n"[..], b"\r\n", b"\n\r\n\n"] {
        let blank = lines.repeat(20_000);
        let bytes = [&blank[..], head].concat();
        for step in [1, 2, 1000, bytes.len()] {
            let read = read(&bytes, step, false);
            assert_eq!(read, Ok((Some(200), 0, true, bytes.len())), "by {step}");
        }
        let mut response = ResponseParser::default();
        response.expect(false);
        for piece in blank.chunks(3) {
            assert_eq!(feed_all(&mut response, piece), Ok(()));
            assert!(response.head.len() <= 1, "what is kept is parsed again");
        }
        let fed = (0..20).try_for_each(|_| feed_all(&mut response, &blank));
        assert_eq!(fed, Err(TooLarge));
    }
    assert_eq!(
        read(b"\rHTTP/1.1 200 OK\r\n\r\n", 1, false),
        Err(BadFraming)
    );
}

fn feed_all(response: &mut ResponseParser, mut bytes: &[u8]) -> Result<(), Unreadable> {
    while !bytes.is_empty() {
        bytes = &bytes[response.feed(bytes)?..];
    }
    Ok(())
}

#[test]
fn interim_answers_without_end_are_refused() {
    let interim = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n";
    let mut response = ResponseParser::default();
    for _ in 0..2 {
        response.expect(false);
        let fed = (0..MAX_INTERIM).try_for_each(|_| feed_all(&mut response, interim));
        assert_eq!(fed, Ok(()), "of one response after the other");
    }
    assert_eq!(feed_all(&mut response, interim), Err(InterimFlood));
}
