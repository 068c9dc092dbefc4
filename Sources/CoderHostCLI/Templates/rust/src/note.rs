//! `manifest.json` as an ELF note, which the host reads without running this plugin.

const JSON: &[u8] = include_bytes!("../manifest.json");
const PADDED: usize = (JSON.len() + 3) & !3;

#[repr(C, align(4))]
struct Note {
    owner_size: u32,
    text_size: u32,
    kind: u32,
    owner: [u8; 12],
    text: [u8; PADDED],
}

const fn padded() -> [u8; PADDED] {
    let mut text = [0; PADDED];
    let mut index = 0;
    while index < JSON.len() {
        text[index] = JSON[index];
        index += 1;
    }
    text
}

#[used]
#[link_section = ".note.coderhost"]
static NOTE: Note = Note {
    owner_size: 10,
    text_size: JSON.len() as u32,
    kind: 0x4350_4931,
    owner: *b"CoderHost\0\0\0",
    text: padded(),
};
