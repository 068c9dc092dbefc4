//! What the linker is told. rustc writes the version script itself: only what is `#[no_mangle]` is exported.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=manifest.json");
}
