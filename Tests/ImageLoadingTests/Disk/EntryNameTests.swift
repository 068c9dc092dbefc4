import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// Conformance: S-31 … S-37, S-49.
@Suite struct `Entry names` {
    private static let long = String(repeating: "a", count: 223)

    @Test(arguments: [
        ("https://example.com/image.jpg", ".jpg"),
        ("https://example.com/a/b/archive.tar.gz", ".gz"),
        ("image.png", ".png"),
        ("a folder/my image.png", ".png"),
        ("file:///home/me/image.webp", ".webp"),
    ]) func `keep the extension of the key (S-31, S-34)`(key: String, suffix: String) {
        #expect(EntryName.suffix(of: key) == suffix)
    }

    @Test(arguments: [
        "https://example.com", "https://example.com/", "https://example.com/image", "https://example.com/image.",
        "https://example.com/.hidden", "https://example.com/v1.2/image", "", ".", "..", "plain",
        "https://maps.example.com/api/staticmap?center=48.8566,2.3522&format=png&size=375x200&zoom=15",
        "https://example.com/view?file=image.png", "https://example.com/view#image.png",
    ]) func `have no extension if the key has none, or only in its query (S-35)`(key: String) {
        #expect(EntryName.suffix(of: key) == "")
    }

    @Test(arguments: [
        "https://example.com/image.jpg?width=10&name=other.png", "https://example.com/image.jpg#part.one",
        "https://example.com/image.jpg;version=1.2?x", "https://example.com/image.jpg/",
        "https://example.com/image%2Ejpg",
        "//example.com/image.jpg?q", "image.jpg?a.b",
    ]) func `ignore everything after the path of a URL (S-36)`(key: String) {
        #expect(EntryName.suffix(of: key) == ".jpg")
    }

    @Test func `have no extension if it would be too long for a file name (S-37)`() {
        #expect(EntryName.suffix(of: "https://example.com/image.\(Self.long)") == "")
        #expect(EntryName.suffix(of: "https://example.com/image.\(Self.long.dropLast())").utf8.count == 223)
        #expect(EntryName(key: "image.\(Self.long.dropLast())").file.utf8.count == 255)
        // Bytes count, not characters.
        #expect(EntryName.suffix(of: "image.\(String(repeating: "ä", count: 112))") == "")
    }

    @Test(arguments: [
        ("https://example.com/image.jpg\0:0\0:0", ".jpg00"), ("image.j:p\0g", ".jpg"),
        ("https://example.com/image.jpg%00", ".jpg"), ("image.a\nb", ".ab"), ("image.:", ""),
        ("https://example.com/image.a%+fb%-0", ".a%+fb%-0"),
    ]) func `leave out characters that file names must not contain (S-49)`(key: String, suffix: String) {
        #expect(EntryName.suffix(of: key) == suffix)
    }

    @Test(arguments: [
        "../../etc/passwd", "x./../../etc/passwd", "https://example.com/x.%2F..%2F..%2Fetc", "a.b%2fc", "/", "a./",
        "a./b/",
    ]) func `never lead out of the folder`(key: String) {
        let name = EntryName(key: key)

        #expect(!name.file.contains("/"))
        #expect(EntryName.isEntry(name.file, in: name.folder))
    }

    @Test func `are half of the key's SHA-256, in a folder of its first digits`() {
        // printf %s https://example.com/a.jpg | sha256sum
        let name = EntryName(key: "https://example.com/a.jpg")

        #expect(name.file == "276a1ac00ba4f0ea47eeeafca24284f4.jpg")
        #expect(name.folder == "27")
        #expect(name.files == [name.file, name.digits])
        #expect(EntryName(key: "plain").files.count == 1)
        #expect(EntryName.folders.count == 256)
        #expect(EntryName.folders.contains(name.folder))
    }

    @Test func `are distinguished from temporary files and other files`() {
        let name = EntryName(key: "https://example.com/a.jpg")

        #expect(EntryName.isEntry(name.digits, in: name.folder))
        #expect(!EntryName.isTemporary(name.file))
        #expect(EntryName.isTemporary(name.temporary()))
        #expect(!EntryName.isEntry(name.temporary(), in: name.folder))
        #expect(name.temporary() != name.temporary())
        #expect(!EntryName.isTemporary(".storing-notes.tmp") && !EntryName.isTemporary(".storing-.tmp"))
        for other in ["\(name.digits)x", String(name.digits.dropLast()), name.digits.uppercased(), "readme.txt"] {
            #expect(!EntryName.isEntry(other, in: name.folder), "\(other)")
        }
        #expect(!EntryName.isEntry(name.file, in: name.folder == "00" ? "01" : "00"))
    }
}
