//! A toy format, so that everything works before you change anything:
//!
//!     "toy-@NAME@\n" | width 4 | height 4 | rows from the top, RGBA of 8 bits, straight alpha      (big-endian)

use crate::cpi;

pub const MAGIC: &[u8] = b"toy-@NAME@\n";
pub const HEADER_BYTES: usize = MAGIC.len() + 8;
pub const PIXEL_BYTES: u64 = 4;

/// The only pixel format of decoder and encoder; the host converts.
pub const RGBA: cpi::PixelFormat = cpi::PixelFormat {
    channels: cpi::CHANNELS_RGBA,
    numeric: cpi::NUMERIC_UNORM,
    bits: 8,
    alpha: cpi::ALPHA_STRAIGHT,
    count: 0,
    layout: 0,
    reserved: 0,
};

/// The header before the pixels.
pub struct Header {
    pub width: u32,
    pub height: u32,
}

impl Header {
    pub fn new(bytes: &[u8; HEADER_BYTES]) -> Header {
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Header { width: number(MAGIC.len()), height: number(MAGIC.len() + 4) }
    }

    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&self.width.to_be_bytes());
        bytes[MAGIC.len() + 4..].copy_from_slice(&self.height.to_be_bytes());
        bytes
    }
}

/// Returns element `index` of the list of pixel formats, which has one element.
pub unsafe fn offer(index: u32, offer: *mut cpi::FormatOffer) -> cpi::Status {
    if index > 0 {
        return cpi::END;
    }
    let mine = cpi::FormatOffer {
        size: std::mem::size_of::<cpi::FormatOffer>() as u32, flags: 0, format: RGBA, row_align: 1, reserved: 0,
    };
    cpi::copy_struct(offer, &mine);
    cpi::OK
}

/// Whether a surface has the agreed format and size, and room for every row.
pub fn is_agreed(surface: &cpi::Surface, width: u32, height: u32) -> bool {
    let row = width as u64 * PIXEL_BYTES;
    !surface.pixels.is_null()
        && surface.format == RGBA
        && surface.width == width
        && surface.height == height
        && surface.stride >= row
        && surface.byte_count >= row
        && (height == 1 || surface.stride <= (surface.byte_count - row) / (height as u64 - 1))
}
