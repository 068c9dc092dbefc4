//! The parts of the contract `coder_plugin.h`, minor 1.0, that this plugin uses.
//!
//! The compiler checks sizes and offsets against those of the header on 64-bit machines.
#![allow(dead_code)]

use std::ffi::{c_char, c_void};

pub const TARGET_MINOR: u32 = 0;

pub type Status = i32;
pub const OK: Status = 0;
pub const END: Status = 1;
pub const NEED_INPUT: Status = 2;
pub const PARTIAL: Status = 3;
pub const REFUSED: Status = 4;
pub const NOT_MINE: Status = -1;
pub const UNSUPPORTED: Status = -2;
pub const CORRUPT: Status = -3;
pub const LIMIT: Status = -4;
pub const INVALID_ARGUMENT: Status = -5;
pub const CANCELLED: Status = -6;
pub const DEADLINE: Status = -7;
pub const NO_MEMORY: Status = -8;
pub const IO: Status = -9;
pub const MISUSE: Status = -10;
pub const INTERNAL: Status = -11;
pub const TRUNCATED: Status = -12;

pub const LIMIT_WIDTH: u32 = 1;
pub const LIMIT_HEIGHT: u32 = 2;
pub const LIMIT_PIXELS: u32 = 3;
pub const LIMIT_OUTPUT_BYTES: u32 = 11;

pub const CHANNELS_RGBA: u8 = 4;
pub const NUMERIC_UNORM: u8 = 1;
pub const ALPHA_STRAIGHT: u8 = 1;

pub const IMAGE_HAS_ALPHA: u32 = 0x01;
pub const FRAME_INDEPENDENT: u32 = 0x01;
pub const FRAME_HAS_ALPHA: u32 = 0x02;
pub const DECODE_WANT_PARTIAL: u32 = 0x01;
pub const OPTION_HINT: u32 = 0x01;

pub const CODER_DECODE: u32 = 0x01;
pub const CODER_ENCODE: u32 = 0x02;
pub const CODER_INCREMENTAL: u32 = 0x10;
pub const CONCURRENCY_ANY: u32 = 0;

/// Declares a struct of the contract, with its layout in the header.
macro_rules! contract {
    ($(#[$note:meta])* $name:ident, $size:literal, { $($field:ident: $type:ty = $offset:literal,)* }) => {
        $(#[$note])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            $(pub $field: $type,)*
        }
        const _: () = {
            assert!(std::mem::size_of::<$name>() == $size);
            $(assert!(std::mem::offset_of!($name, $field) == $offset);)*
        };
    };
}

contract!(Error, 392, {
    size: u32 = 0,
    code: Status = 4,
    domain: [u8; 32] = 8,
    message: [u8; 256] = 40,
    feature: [u8; 64] = 296,
    input_offset: u64 = 360,
    limit_id: u32 = 368,
    reserved: u32 = 372,
    limit_allowed: u64 = 376,
    limit_requested: u64 = 384,
});

contract!(Rect, 16, {
    x: i32 = 0,
    y: i32 = 4,
    width: u32 = 8,
    height: u32 = 12,
});

contract!(#[derive(PartialEq)] PixelFormat, 8, {
    channels: u8 = 0,
    numeric: u8 = 1,
    bits: u8 = 2,
    alpha: u8 = 3,
    count: u16 = 4,
    layout: u8 = 6,
    reserved: u8 = 7,
});

contract!(Surface, 48, {
    size: u32 = 0,
    flags: u32 = 4,
    format: PixelFormat = 8,
    width: u32 = 16,
    height: u32 = 20,
    stride: u64 = 24,
    pixels: *mut u8 = 32,
    byte_count: u64 = 40,
});

contract!(Color, 16, {
    flags: u32 = 0,
    primaries: u8 = 4,
    transfer: u8 = 5,
    matrix: u8 = 6,
    full_range: u8 = 7,
    reserved: [u32; 2] = 8,
});

contract!(Chromaticities, 32, {
    red_x: i32 = 0,
    red_y: i32 = 4,
    green_x: i32 = 8,
    green_y: i32 = 12,
    blue_x: i32 = 16,
    blue_y: i32 = 20,
    white_x: i32 = 24,
    white_y: i32 = 28,
});

contract!(Mastering, 40, {
    colors: Chromaticities = 0,
    max_luminance: u32 = 32,
    min_luminance: u32 = 36,
});

contract!(ImageInfo, 176, {
    size: u32 = 0,
    flags: u32 = 4,
    width: u32 = 8,
    height: u32 = 12,
    orientation: u32 = 16,
    bit_depth: u32 = 20,
    frame_count: u32 = 24,
    loop_kind: u32 = 28,
    loop_count: u64 = 32,
    native: PixelFormat = 40,
    color: Color = 48,
    density_unit: u32 = 64,
    density_x: u32 = 68,
    density_y: u32 = 72,
    background: [u8; 4] = 76,
    tile_width: u32 = 80,
    tile_height: u32 = 84,
    region_cost: u32 = 88,
    gamma: u32 = 92,
    chromaticities: Chromaticities = 96,
    mastering: Mastering = 128,
    max_content_light: u32 = 168,
    max_frame_average_light: u32 = 172,
});

contract!(Rational, 8, {
    numerator: u32 = 0,
    denominator: u32 = 4,
});

contract!(FrameInfo, 48, {
    size: u32 = 0,
    flags: u32 = 4,
    index: u32 = 8,
    blend: u32 = 12,
    disposal: u32 = 16,
    rect: Rect = 20,
    duration: Rational = 36,
    reserved: u32 = 44,
});

contract!(Source, 64, {
    size: u32 = 0,
    kind: u32 = 4,
    length: u64 = 8,
    bytes: *const u8 = 16,
    ctx: *mut c_void = 24,
    available: unsafe extern "C" fn(*mut c_void) -> u64 = 32,
    complete: unsafe extern "C" fn(*mut c_void) -> i32 = 40,
    read_at: unsafe extern "C" fn(*mut c_void, u64, *mut u8, u64, *mut u64) -> Status = 48,
    ending: *const c_char = 56,
});

contract!(Sink, 32, {
    size: u32 = 0,
    flags: u32 = 4,
    ctx: *mut c_void = 8,
    write: unsafe extern "C" fn(*mut c_void, *const u8, u64) -> Status = 16,
    write_at: Option<unsafe extern "C" fn(*mut c_void, u64, *const u8, u64) -> Status> = 24,
});

contract!(CoderOption, 56, {
    size: u32 = 0,
    kind: u32 = 4,
    flags: u32 = 8,
    reserved: u32 = 12,
    key: *const c_char = 16,
    integer: i64 = 24,
    real: f64 = 32,
    bytes: *const u8 = 40,
    length: u64 = 48,
});

contract!(Options, 24, {
    size: u32 = 0,
    count: u32 = 4,
    stride: u64 = 8,
    items: *const CoderOption = 16,
});

contract!(Limits, 96, {
    size: u32 = 0,
    max_width: u32 = 4,
    max_height: u32 = 8,
    max_frames: u32 = 12,
    max_pixels: u64 = 16,
    max_total_pixels: u64 = 24,
    max_source_pixels: u64 = 32,
    max_alloc: u64 = 40,
    max_total_alloc: u64 = 48,
    max_metadata_bytes: u64 = 56,
    max_input_bytes: u64 = 64,
    max_output_bytes: u64 = 72,
    max_nesting: u32 = 80,
    max_threads: u32 = 84,
    max_scans: u32 = 88,
    max_ratio: u32 = 92,
});

contract!(Services, 80, {
    size: u32 = 0,
    flags: u32 = 4,
    ctx: *mut c_void = 8,
    allocate: unsafe extern "C" fn(*mut c_void, u64) -> *mut c_void = 16,
    release: unsafe extern "C" fn(*mut c_void, *mut c_void) = 24,
    budget: unsafe extern "C" fn(*mut c_void, i64) -> Status = 32,
    poll: unsafe extern "C" fn(*mut c_void) -> Status = 40,
    log: unsafe extern "C" fn(*mut c_void, u32, *const c_char) = 48,
    progress: unsafe extern "C" fn(*mut c_void, u64, u64) = 56,
    now: unsafe extern "C" fn(*mut c_void) -> u64 = 64,
    thread_hint: unsafe extern "C" fn(*mut c_void) -> u32 = 72,
});

contract!(FormatOffer, 24, {
    size: u32 = 0,
    flags: u32 = 4,
    format: PixelFormat = 8,
    row_align: u32 = 16,
    reserved: u32 = 20,
});

contract!(DecodeRequest, 40, {
    size: u32 = 0,
    flags: u32 = 4,
    surface: *const Surface = 8,
    region: Rect = 16,
    scaled_width: u32 = 32,
    scaled_height: u32 = 36,
});

/// A session of the plugin; the host only passes on its address.
pub enum Session {}

type Open = unsafe extern "C" fn(
    *const Coder, *const Services, *const Limits, *const Options, *mut *mut Session, *mut Error,
) -> Status;

contract!(DecoderApi, 104, {
    size: u32 = 0,
    reserved: u32 = 4,
    open: Open = 8,
    close: unsafe extern "C" fn(*mut Session) = 16,
    set_source: unsafe extern "C" fn(*mut Session, *const Source, *mut Error) -> Status = 24,
    read_header: unsafe extern "C" fn(*mut Session, *mut ImageInfo, *mut Error) -> Status = 32,
    blob: Option<unsafe extern "C" fn(*mut Session, u32, *mut c_void, *mut Error) -> Status> = 40,
    offer: Option<unsafe extern "C" fn(*mut Session, u32, *mut FormatOffer, *mut Error) -> Status> = 48,
    scaled_size: Option<unsafe extern "C" fn(*mut Session, *mut u32, *mut u32, *mut Error) -> Status> = 56,
    next_frame: unsafe extern "C" fn(*mut Session, *mut FrameInfo, *mut Error) -> Status = 64,
    seek_frame: Option<unsafe extern "C" fn(*mut Session, *mut u32, *mut Error) -> Status> = 72,
    decode: unsafe extern "C" fn(*mut Session, *const DecodeRequest, *mut Error) -> Status = 80,
    dirty: Option<unsafe extern "C" fn(*mut Session, *mut Rect, *mut Error) -> Status> = 88,
    get: Option<unsafe extern "C" fn(*mut Session, *const c_char) -> *const c_void> = 96,
});

contract!(EncoderApi, 72, {
    size: u32 = 0,
    reserved: u32 = 4,
    open: Open = 8,
    close: unsafe extern "C" fn(*mut Session) = 16,
    accept: unsafe extern "C" fn(*mut Session, *const ImageInfo, u32, *mut FormatOffer, *mut Error) -> Status = 24,
    begin: unsafe extern "C" fn(*mut Session, *const ImageInfo, *const Sink, *mut Error) -> Status = 32,
    add_blob: Option<unsafe extern "C" fn(*mut Session, *const c_void, *mut Error) -> Status> = 40,
    add_frame: unsafe extern "C" fn(*mut Session, *const FrameInfo, *const Surface, *mut Error) -> Status = 48,
    finish: unsafe extern "C" fn(*mut Session, *mut Error) -> Status = 56,
    get: Option<unsafe extern "C" fn(*mut Session, *const c_char) -> *const c_void> = 64,
});

contract!(Coder, 40, {
    size: u32 = 0,
    roles: u32 = 4,
    id: *const c_char = 8,
    data: *mut c_void = 16,
    decoder: Option<&'static DecoderApi> = 24,
    encoder: Option<&'static EncoderApi> = 32,
});

contract!(Plugin, 64, {
    size: u32 = 0,
    abi_minor_built: u32 = 4,
    abi_minor_needed: u32 = 8,
    concurrency: u32 = 12,
    id: *const c_char = 16,
    version: *const c_char = 24,
    coder_count: u32 = 32,
    reserved: u32 = 36,
    coder: extern "C" fn(u32) -> *const Coder = 40,
    init: Option<extern "C" fn(*mut Error) -> Status> = 48,
    get: Option<extern "C" fn(*const c_char) -> *const c_void> = 56,
});

// Constant data with pointers to constant data.
unsafe impl Sync for Coder {}
unsafe impl Sync for Plugin {}

/// Copies a plugin struct to a host struct. The host may have another minor version, so only the fields that both sides
/// know are copied. `size` keeps the host's value.
///
/// # Safety
/// Both structs begin with their size in bytes.
pub unsafe fn copy_struct<T>(to: *mut T, from: &T) {
    let count = (*(to as *const u32)).min(*(from as *const T as *const u32)) as usize;
    if count > 4 {
        let from = (from as *const T as *const u8).add(4);
        std::ptr::copy_nonoverlapping(from, (to as *mut u8).add(4), count - 4);
    }
}

/// Reads a host struct, which may have another minor version; missing fields read as zero.
///
/// # Safety
/// As for [`copy_struct`]; `T` must allow all bytes to be zero.
pub unsafe fn read_struct<T: Copy>(from: *const T) -> T {
    let mut result: T = std::mem::zeroed();
    let count = (*(from as *const u32) as usize).min(std::mem::size_of::<T>());
    std::ptr::copy_nonoverlapping(from as *const u8, &mut result as *mut T as *mut u8, count);
    result
}
