//! The coder @ID@ in Rust without crates. `cpi.rs` declares the contract of `coder_plugin.h`.
//!
//! Replace `format.rs`, and adapt `decoder.rs` and `encoder.rs`. `session.rs` implements the rules for every coder.
//! This file and `manifest.json` must match.

mod cpi;
mod decoder;
mod encoder;
mod format;
mod note;
mod session;

use std::ffi::{c_char, c_void};
use std::mem::size_of;

static CODER: cpi::Coder = cpi::Coder {
    size: size_of::<cpi::Coder>() as u32,
    roles: cpi::CODER_DECODE | cpi::CODER_ENCODE | cpi::CODER_INCREMENTAL,
    id: c"@ID@".as_ptr(),
    data: std::ptr::null_mut(),
    decoder: Some(&decoder::API),
    encoder: Some(&encoder::API),
};

static PLUGIN: cpi::Plugin = cpi::Plugin {
    size: size_of::<cpi::Plugin>() as u32,
    abi_minor_built: cpi::TARGET_MINOR,
    abi_minor_needed: 0,
    concurrency: cpi::CONCURRENCY_ANY,
    id: c"@ID@-plugin".as_ptr(),
    version: c"0.1.0".as_ptr(),
    coder_count: 1,
    reserved: 0,
    coder,
    init: Some(init),
    get: Some(get),
};

extern "C" fn coder(index: u32) -> *const cpi::Coder {
    if index == 0 { &CODER } else { std::ptr::null() }
}

/// A panic becomes an error of its session; a plugin prints nothing. The hook applies to this library only.
extern "C" fn init(_: *mut cpi::Error) -> cpi::Status {
    std::panic::set_hook(Box::new(|_| {}));
    cpi::OK
}

/// The plugin has no extensions: every id is unknown.
extern "C" fn get(_: *const c_char) -> *const c_void {
    std::ptr::null()
}

/// The only exported symbol.
#[no_mangle]
pub extern "C" fn cpi_entry_1(_: *const c_void, _: *mut cpi::Error) -> *const cpi::Plugin {
    &PLUGIN
}
