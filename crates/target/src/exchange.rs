//! Requests and answers on one connection: one read and one write each on the good path.

use crate::alarm::Alarm;
use crate::prepared_answer::{AnswerBytes, PreparedAnswer, PreparedFault};
use crate::request::{IncomingRequest, RequestHead, read_head};
use crate::service::Service;
use crate::wire::Wire;
use crate::{ConnectionEnd, LastRequest};
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Room for reading: a whole request of a load generator.
const READ_BYTES: usize = 4 * 1024;

/// A longer head is refused.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The HTTP side of a connection.
pub(crate) struct Exchange<'a, W> {
    wire: W,
    shared: &'a Service,
    alarm: &'a Alarm,
    /// Bytes read and not yet understood.
    buffer: Vec<u8>,
    /// Requests of this connection so far.
    requests: u32,
}

/// What comes next on a connection.
enum ConnectionStep {
    Request(IncomingRequest),
    End(ConnectionEnd),
}

impl<'a, W: Wire> Exchange<'a, W> {
    pub fn new(wire: W, shared: &'a Service, alarm: &'a Alarm) -> Exchange<'a, W> {
        Exchange {
            wire,
            shared,
            alarm,
            buffer: Vec::with_capacity(READ_BYTES),
            requests: 0,
        }
    }

    pub fn into_wire(self) -> W {
        self.wire
    }

    /// Answers requests until the connection is to end, and says how.
    pub async fn run(&mut self) -> io::Result<ConnectionEnd> {
        loop {
            let request = match self.next_request().await? {
                ConnectionStep::Request(request) => request,
                ConnectionStep::End(ending) => return Ok(ending),
            };
            self.requests = self.requests.saturating_add(1);
            self.shared.tally.request(request.body_bytes);
            if let Some(ending) = self.answer(&request).await? {
                return Ok(ending);
            }
        }
    }

    async fn next_request(&mut self) -> io::Result<ConnectionStep> {
        loop {
            match read_head(&self.buffer, |path| self.shared.answer_of(path)) {
                RequestHead::Whole(request, bytes) => {
                    self.buffer.drain(..bytes);
                    self.skip_body(&request).await?;
                    return Ok(ConnectionStep::Request(request));
                }
                RequestHead::Partial if self.buffer.len() > MAX_HEAD_BYTES => {
                    return self.refuse(431).await;
                }
                RequestHead::Partial => {}
                RequestHead::Bad(status) => return self.refuse(status).await,
            }
            if !self.read_within_idle().await? {
                return Ok(ConnectionStep::End(ConnectionEnd::Orderly));
            }
        }
    }

    /// Reads more; false if the connection has ended or has been idle for too long.
    async fn read_within_idle(&mut self) -> io::Result<bool> {
        match self.shared.keep_alive.idle {
            // Within a request the client may take its time.
            Some(idle) if self.buffer.is_empty() => tokio::time::timeout(idle, self.read())
                .await
                .map_or(Ok(false), |read| Ok(read? > 0)),
            _ => Ok(self.read().await? > 0),
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.buffer.reserve(READ_BYTES);
        self.wire.read_buf(&mut self.buffer).await
    }

    async fn skip_body(&mut self, request: &IncomingRequest) -> io::Result<()> {
        if request.body_bytes == 0 {
            return Ok(());
        }
        if request.waits_for_continue {
            self.wire
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await?;
            self.wire.flush().await?;
        }
        let mut left = request.body_bytes;
        loop {
            let here = left.min(self.buffer.len() as u64);
            // Not above the buffer's length.
            self.buffer.drain(..here as usize);
            left -= here;
            if left == 0 {
                return Ok(());
            }
            if self.read().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn refuse(&mut self, status: u16) -> io::Result<ConnectionStep> {
        self.shared.tally.request_bad();
        // Without a reason: RFC 9112 §4 lets it be empty.
        let answer =
            format!("HTTP/1.1 {status} \r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        self.wire.write_all(answer.as_bytes()).await?;
        self.wire.flush().await?;
        Ok(ConnectionStep::End(ConnectionEnd::Orderly))
    }

    /// Answers, and says how the connection ends where this answer is its last.
    async fn answer(&mut self, request: &IncomingRequest) -> io::Result<Option<ConnectionEnd>> {
        let answer = &self.shared.answers[request.answer];
        self.wait(answer).await?;
        if let Some(fault) = answer
            .fault
            .as_ref()
            .filter(|_| self.requests > answer.sound_first)
        {
            return self.fail(fault).await;
        }
        let limit = self
            .shared
            .keep_alive
            .requests
            .is_some_and(|limit| self.requests >= limit.get());
        let announced = limit && self.shared.keep_alive.last == LastRequest::Announced;
        let close = request.close || answer.last || announced;
        send(&mut self.wire, answer.response(request.is_head, close)).await?;
        self.shared.tally.response(
            answer.status,
            if request.is_head {
                0
            } else {
                answer.payload_bytes
            },
        );
        Ok((close || limit).then_some(ConnectionEnd::Orderly))
    }

    async fn wait(&mut self, answer: &PreparedAnswer) -> io::Result<()> {
        let Some(answer_at) = answer.answer_at() else {
            return Ok(());
        };
        if !answer.early.is_empty() {
            self.wire.write_all(&answer.early).await?;
            self.wire.flush().await?;
        }
        self.alarm.until(answer_at).await;
        Ok(())
    }

    async fn fail(&mut self, fault: &PreparedFault) -> io::Result<Option<ConnectionEnd>> {
        self.shared.tally.fault();
        send(&mut self.wire, &fault.response).await?;
        Ok(Some(fault.then))
    }
}

async fn send<W: Wire>(wire: &mut W, response: &AnswerBytes) -> io::Result<()> {
    wire.write_all(&response.first).await?;
    for _ in 0..response.blocks {
        wire.write_all(&response.block).await?;
    }
    if !response.last.is_empty() {
        wire.write_all(&response.last).await?;
    }
    wire.flush().await
}
