//! Pixels to bytes.

use crate::cpi::{self, Status};
use crate::format::{self, Header, PIXEL_BYTES, RGBA};
use crate::session::{self, call, Answer, Base, Failure, BEGUN, FINISHED, FRAMED, OPENED};
use std::ffi::{c_char, c_void};
use std::mem::size_of;

struct Encoder {
    sink: *const cpi::Sink,
    width: u32,
    height: u32,
}

impl Encoder {
    fn begin(&mut self, base: &mut Base, info: &cpi::ImageInfo, sink: *const cpi::Sink) -> Answer {
        if info.width == 0 || info.height == 0 {
            return Err(Failure::new(cpi::INVALID_ARGUMENT, "there are no pixels"));
        }
        if info.frame_count > 1 {
            return Err(Failure::new(cpi::UNSUPPORTED, "more than one frame"));
        }
        if info.native != RGBA {
            return Err(Failure::new(cpi::MISUSE, "the pixel format was not accepted"));
        }
        base.check_size(info.width, info.height)?;
        (self.sink, self.width, self.height) = (sink, info.width, info.height);
        base.state = BEGUN;
        Ok(cpi::OK)
    }

    /// # Safety
    /// `bytes` points to `count` bytes.
    unsafe fn write(&self, base: &Base, bytes: *const u8, count: u64) -> Result<(), Failure> {
        let status = ((*self.sink).write)((*self.sink).ctx, bytes, count);
        if status >= 0 {
            return Ok(());
        }
        let mut failure = Failure::new(status, "the output cannot be written");
        if status == cpi::LIMIT {
            failure.limit = (cpi::LIMIT_OUTPUT_BYTES, base.limits.max_output_bytes, 0);
        }
        Err(failure)
    }

    fn add_frame(&mut self, base: &mut Base, surface: &cpi::Surface) -> Answer {
        if !format::is_agreed(surface, self.width, self.height) {
            return Err(Failure::new(cpi::MISUSE, "the surface does not have the agreed format"));
        }
        let header = Header { width: self.width, height: self.height }.bytes();
        unsafe { self.write(base, header.as_ptr(), header.len() as u64)? };
        for y in 0..self.height {
            base.ask_to_go_on(y, self.height)?;
            unsafe {
                let row = surface.pixels.add((y as u64 * surface.stride) as usize);
                self.write(base, row, self.width as u64 * PIXEL_BYTES)?;
            }
        }
        base.state = FRAMED;
        Ok(cpi::OK)
    }
}

// ---- the table ------------------------------------------------------------------------------------------------------

unsafe extern "C" fn open(
    _: *const cpi::Coder, services: *const cpi::Services, limits: *const cpi::Limits, options: *const cpi::Options,
    encoder: *mut *mut cpi::Session, error: *mut cpi::Error,
) -> Status {
    let own = Encoder { sink: std::ptr::null(), width: 0, height: 0 };
    session::open(services, limits, options, encoder, error, own)
}

unsafe extern "C" fn close(encoder: *mut cpi::Session) {
    session::close::<Encoder>(encoder)
}

unsafe extern "C" fn accept(
    e: *mut cpi::Session, _: *const cpi::ImageInfo, index: u32, offer: *mut cpi::FormatOffer, error: *mut cpi::Error,
) -> Status {
    call(e, OPENED, error, |_, _: &mut Encoder| Ok(format::offer(index, offer)))
}

unsafe extern "C" fn begin(
    e: *mut cpi::Session, info: *const cpi::ImageInfo, sink: *const cpi::Sink, error: *mut cpi::Error,
) -> Status {
    call(e, OPENED, error, |base, e: &mut Encoder| e.begin(base, &cpi::read_struct(info), sink))
}

unsafe extern "C" fn add_frame(
    e: *mut cpi::Session, _: *const cpi::FrameInfo, surface: *const cpi::Surface, error: *mut cpi::Error,
) -> Status {
    call(e, BEGUN, error, |base, e: &mut Encoder| e.add_frame(base, &*surface))
}

/// Write the trailer of your format here, if it has one.
unsafe extern "C" fn finish(e: *mut cpi::Session, error: *mut cpi::Error) -> Status {
    call(e, FRAMED, error, |base, _: &mut Encoder| {
        base.state = FINISHED;
        Ok(cpi::OK)
    })
}

/// The plugin has no extensions: every id is unknown.
unsafe extern "C" fn get(_: *mut cpi::Session, _: *const c_char) -> *const c_void {
    std::ptr::null()
}

pub static API: cpi::EncoderApi = cpi::EncoderApi {
    size: size_of::<cpi::EncoderApi>() as u32,
    reserved: 0,
    open,
    close,
    accept,
    begin,
    add_blob: None,
    add_frame,
    finish,
    get: Some(get),
};
