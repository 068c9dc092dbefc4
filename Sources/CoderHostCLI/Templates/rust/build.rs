//! Flags for the linker. rustc writes the version script itself: it exports only `#[no_mangle]` symbols.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=manifest.json");
}
