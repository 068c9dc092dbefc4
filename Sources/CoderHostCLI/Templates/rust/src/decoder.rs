//! Bytes to pixels.

use crate::cpi::{self, Status};
use crate::format::{self, Header, HEADER_BYTES, MAGIC, PIXEL_BYTES, RGBA};
use crate::session::{self, call, Answer, Base, Failure, DECODED, FRAME, HEADER, OPENED, SOURCED};
use std::ffi::{c_char, c_void};
use std::mem::size_of;

struct Decoder {
    source: *const cpi::Source,
    width: u32,
    height: u32,
    /// The next row to decode; earlier rows are in the surface.
    row: u32,
    dirty: cpi::Rect,
}

impl Decoder {
    /// Reads up to `count` bytes. If the input ends earlier, returns fewer, and whether the input can grow.
    ///
    /// # Safety
    /// `buffer` has room for `count` bytes.
    unsafe fn read(&self, offset: u64, buffer: *mut u8, count: u64) -> Result<(u64, bool), Failure> {
        let mut copied = 0;
        let status = ((*self.source).read_at)((*self.source).ctx, offset, buffer, count, &mut copied);
        if status < 0 {
            return Err(Failure::at(status, offset, "the input cannot be read"));
        }
        Ok((copied.min(count), status == cpi::NEED_INPUT))
    }

    /// Treat every number in a file as hostile until it is validated with arithmetic that cannot overflow.
    fn read_header(&mut self, base: &mut Base, info: *mut cpi::ImageInfo) -> Answer {
        let mut bytes = [0; HEADER_BYTES];
        let (count, may_grow) = unsafe { self.read(0, bytes.as_mut_ptr(), HEADER_BYTES as u64)? };
        let known = MAGIC.len().min(count as usize);
        if bytes[..known] != MAGIC[..known] {
            return Err(Failure::new(cpi::NOT_MINE, "this is another format"));
        }
        if count < HEADER_BYTES as u64 {
            let failure = Failure::at(cpi::TRUNCATED, count, "the data ends in the header");
            return if may_grow { Ok(cpi::NEED_INPUT) } else { Err(failure) };
        }
        let Header { width, height } = Header::new(&bytes);
        let place = MAGIC.len() as u64;
        if width == 0 || height == 0 {
            return Err(Failure::at(cpi::CORRUPT, place, "there are no pixels"));
        }
        if width as u64 * height as u64 > (u64::MAX - HEADER_BYTES as u64) / PIXEL_BYTES {
            return Err(Failure::at(cpi::CORRUPT, place, "no data can be as large as the header says"));
        }
        base.check_size(width, height)?;
        (self.width, self.height) = (width, height);
        base.state = HEADER;

        // No color flags: the format has no color description.
        let mut mine: cpi::ImageInfo = unsafe { std::mem::zeroed() };
        mine.size = size_of::<cpi::ImageInfo>() as u32;
        mine.flags = cpi::IMAGE_HAS_ALPHA;
        (mine.width, mine.height, mine.bit_depth, mine.frame_count) = (width, height, 8, 1);
        mine.native = RGBA;
        unsafe { cpi::copy_struct(info, &mine) };
        Ok(cpi::OK)
    }

    fn next_frame(&mut self, base: &mut Base, frame: *mut cpi::FrameInfo) -> Answer {
        if base.state != HEADER {
            return Ok(cpi::END);
        }
        let mut mine: cpi::FrameInfo = unsafe { std::mem::zeroed() };
        mine.size = size_of::<cpi::FrameInfo>() as u32;
        mine.flags = cpi::FRAME_INDEPENDENT | cpi::FRAME_HAS_ALPHA;
        mine.rect = cpi::Rect { x: 0, y: 0, width: self.width, height: self.height };
        unsafe { cpi::copy_struct(frame, &mine) };
        base.state = FRAME;
        Ok(cpi::OK)
    }

    fn decode(&mut self, base: &mut Base, request: &cpi::DecodeRequest) -> Answer {
        let (part, surface) = (request.region, unsafe { &*request.surface });
        if part.width != 0 || request.scaled_width != 0 {
            return Err(Failure::new(cpi::REFUSED, "only whole images are decoded"));
        }
        if !format::is_agreed(surface, self.width, self.height) {
            return Err(Failure::new(cpi::MISUSE, "the surface does not have the agreed format"));
        }
        if base.state == DECODED {
            self.row = 0;
        }
        base.state = FRAME;
        let wants_partial = request.flags & cpi::DECODE_WANT_PARTIAL != 0;
        let first = self.row;
        let row_bytes = self.width as u64 * PIXEL_BYTES;
        while self.row < self.height {
            base.ask_to_go_on(self.row, self.height)?;
            let offset = HEADER_BYTES as u64 + self.row as u64 * row_bytes;
            // Writes directly into the surface. Bytes after the end of a row belong to the host.
            let place = unsafe { surface.pixels.add((self.row as u64 * surface.stride) as usize) };
            let (count, may_grow) = unsafe { self.read(offset, place, row_bytes)? };
            if count < row_bytes {
                return self.run_dry(first, offset, may_grow, wants_partial);
            }
            self.row += 1;
        }
        self.dirty = cpi::Rect { x: 0, y: first as i32, width: self.width, height: self.height - first };
        base.state = DECODED;
        Ok(cpi::OK)
    }

    /// The input ended before the image; rows from `first` on are new.
    fn run_dry(&mut self, first: u32, offset: u64, may_grow: bool, wants_partial: bool) -> Answer {
        let rows = self.row - first;
        self.dirty = cpi::Rect { x: 0, y: first as i32, width: if rows > 0 { self.width } else { 0 }, height: rows };
        if wants_partial && self.row > if may_grow { first } else { 0 } {
            return Ok(cpi::PARTIAL);
        }
        let failure = Failure::at(cpi::TRUNCATED, offset, "the data ends before the last row");
        if may_grow { Ok(cpi::NEED_INPUT) } else { Err(failure) }
    }
}

// ---- the table ------------------------------------------------------------------------------------------------------

unsafe extern "C" fn open(
    _: *const cpi::Coder, services: *const cpi::Services, limits: *const cpi::Limits, options: *const cpi::Options,
    decoder: *mut *mut cpi::Session, error: *mut cpi::Error,
) -> Status {
    let nothing = cpi::Rect { x: 0, y: 0, width: 0, height: 0 };
    let own = Decoder { source: std::ptr::null(), width: 0, height: 0, row: 0, dirty: nothing };
    session::open(services, limits, options, decoder, error, own)
}

unsafe extern "C" fn close(decoder: *mut cpi::Session) {
    session::close::<Decoder>(decoder)
}

unsafe extern "C" fn set_source(d: *mut cpi::Session, source: *const cpi::Source, error: *mut cpi::Error) -> Status {
    call(d, OPENED, error, |base, d: &mut Decoder| {
        d.source = source;
        base.state = SOURCED;
        Ok(cpi::OK)
    })
}

unsafe extern "C" fn read_header(d: *mut cpi::Session, info: *mut cpi::ImageInfo, error: *mut cpi::Error) -> Status {
    call(d, SOURCED, error, |base, d: &mut Decoder| d.read_header(base, info))
}

unsafe extern "C" fn offer(
    d: *mut cpi::Session, index: u32, offer: *mut cpi::FormatOffer, error: *mut cpi::Error,
) -> Status {
    call(d, HEADER | FRAME | DECODED, error, |_, _: &mut Decoder| Ok(format::offer(index, offer)))
}

unsafe extern "C" fn next_frame(d: *mut cpi::Session, frame: *mut cpi::FrameInfo, error: *mut cpi::Error) -> Status {
    call(d, HEADER | FRAME | DECODED, error, |base, d: &mut Decoder| d.next_frame(base, frame))
}

unsafe extern "C" fn seek_frame(d: *mut cpi::Session, index: *mut u32, error: *mut cpi::Error) -> Status {
    call(d, HEADER | FRAME | DECODED, error, |base, d: &mut Decoder| {
        if *index != 0 {
            return Err(Failure::new(cpi::INVALID_ARGUMENT, "there is only frame 0"));
        }
        d.row = 0;
        base.state = HEADER;
        Ok(cpi::OK)
    })
}

unsafe extern "C" fn decode(
    d: *mut cpi::Session, request: *const cpi::DecodeRequest, error: *mut cpi::Error,
) -> Status {
    call(d, FRAME | DECODED, error, |base, d: &mut Decoder| d.decode(base, &*request))
}

unsafe extern "C" fn dirty(d: *mut cpi::Session, rect: *mut cpi::Rect, error: *mut cpi::Error) -> Status {
    call(d, FRAME | DECODED, error, |_, d: &mut Decoder| {
        *rect = d.dirty;
        Ok(cpi::OK)
    })
}

/// The plugin has no extensions: every id is unknown.
unsafe extern "C" fn get(_: *mut cpi::Session, _: *const c_char) -> *const c_void {
    std::ptr::null()
}

pub static API: cpi::DecoderApi = cpi::DecoderApi {
    size: size_of::<cpi::DecoderApi>() as u32,
    reserved: 0,
    open,
    close,
    set_source,
    read_header,
    blob: None,
    offer: Some(offer),
    scaled_size: None,
    next_frame,
    seek_frame: Some(seek_frame),
    decode,
    get: Some(get),
    dirty: Some(dirty),
};
