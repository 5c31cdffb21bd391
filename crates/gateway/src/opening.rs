//! The first bytes of a connection: a program's request, the preamble of a stream, and the answer to each.
//!
//! Follows RFC 1928 for programs, and docs/stp.md §16 for streams: no byte after the preamble or the answer is read here.
//! Leaves out opening streams and sockets (`turns`, `connector`).

use crate::dscp::Dscp;
use crate::fate::End;
use crate::flow::{ASKING_MAX, Phase, SplitConnection};
use crate::socks::{self, Asked};
use bytes::{Bytes, BytesMut};
use skyhop_splice::preamble::{Answer, Preamble};
use skyhop_transport::stp::Trunk;
use skyhop_units::Time;

impl SplitConnection {
    /// Reads a program's request. Returns true if the next step can follow; once the request is complete, the connection waits for a
    /// stream.
    pub fn read_request(&mut self, now: Time, arena: &mut BytesMut) -> Result<bool, End> {
        let (Phase::Asking(program), Some(socket)) = (&mut self.phase, &mut self.socket) else {
            return Ok(false);
        };
        let read = match socket.read(512, arena) {
            Ok(Some(bytes)) if bytes.is_empty() => return Err(End::Reset),
            Ok(Some(bytes)) => bytes,
            Ok(None) if now.since(self.since) >= ASKING_MAX => return Err(End::Refused(Answer::TimedOut)),
            Ok(None) => return Ok(false),
            Err(_) => return Err(End::Reset),
        };
        let asked = program.handle(&read);
        let out = std::mem::take(&mut program.out);
        if !out.is_empty() {
            // The first few bytes of a connection always fit.
            socket.write(out.into());
        }
        match asked {
            Asked::More => Ok(true),
            Asked::Refused => Err(End::Refused(Answer::NotUnderstood)),
            Asked::Connect(destination) => {
                self.destination = Some(destination.clone());
                let preamble = Preamble::to(destination);
                let Phase::Asking(program) = std::mem::replace(&mut self.phase, Phase::Waiting(preamble))
                else {
                    return Err(End::Reset);
                };
                let early = Bytes::from(program.rest());
                if !early.is_empty() {
                    self.join.preload(early);
                }
                Ok(true)
            }
        }
    }

    /// Answers a program, if the client is one.
    pub fn reply(&mut self, answer: Answer) {
        if let (true, Some(socket)) = (self.replies, &mut self.socket) {
            socket.write(Bytes::copy_from_slice(&socks::reply(answer)));
        }
    }

    /// Refuses a program, if the client is one: it reads the answer first, which a reset could overtake.
    pub fn refuse_program(&mut self, answer: Answer) {
        if !self.replies {
            return;
        }
        if !matches!(self.phase, Phase::Asking(_)) {
            self.reply(answer);
        }
        if let Some(socket) = self.socket.take() {
            socket.close();
        }
    }

    /// Reads the preamble of its stream, and no byte after it. Returns nothing while it is incomplete.
    pub fn read_preamble(&mut self, now: Time, trunk: &mut Trunk<Bytes>) -> Result<Option<Preamble>, End> {
        let (Phase::Reading(bytes), Some((_, id))) = (&mut self.phase, self.stream) else { return Ok(None) };
        let preamble = loop {
            match Preamble::parse(bytes) {
                Ok(Some((preamble, _))) => break preamble,
                Ok(None) => {}
                Err(_) => return Err(End::Answered(Answer::NotUnderstood)),
            }
            let wanted = match bytes.first_chunk::<3>() {
                Some(&[_, high, low]) if bytes.len() >= 4 => 4 + usize::from(u16::from_be_bytes([high, low])),
                _ => 4,
            };
            match trunk.read(id, wanted - bytes.len()) {
                Some(more) => bytes.extend_from_slice(&more),
                None if self.finished || now.since(self.since) >= ASKING_MAX => {
                    return Err(End::Answered(Answer::NotUnderstood));
                }
                None => return Ok(None),
            }
        };
        self.destination = Some(preamble.destination.clone());
        self.client = preamble.source;
        self.class.dscp = preamble.dscp.map_or(Dscp::default(), Dscp::from_number);
        Ok(Some(preamble))
    }

    /// Reads the far gateway's answer. Returns true once its server is connected.
    pub fn read_answer(&mut self, trunk: &mut Trunk<Bytes>) -> Result<bool, End> {
        let (_, id) = self.stream.ok_or(End::Reset)?;
        let Some(answer) = trunk.read(id, 1) else {
            return if self.finished { Err(End::Refused(Answer::NotUnderstood)) } else { Ok(false) };
        };
        trunk.unreserve(id);
        match Answer::from_number(answer[0]) {
            Answer::Connected => Ok(true),
            refusal => Err(End::Refused(refusal)),
        }
    }
}
