import Glibc
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `Traps for the loader` {
    @Test func `a needed library that is a FIFO or a device is not found, and not opened`() throws {
        let place = TemporaryDirectory()
        let fifo = place.file("needed")
        #expect(unsafe mkfifo(fifo, 0o600) == 0)

        #expect(mappedPath(fifo) == nil)
        #expect(mappedPath("/dev/zero") == nil)
    }

    @Test func `the GNU property note, which is aligned to 8, is skipped`() throws {
        let place = TemporaryDirectory()
        // namesz 4, descsz 16, type 5, "GNU\0", then a property: the text begins at 16 without padding.
        let source = """
            #include "coder_plugin.h"
            CPI_MANIFEST("{}");
            __asm__(".section .note.gnu.property,\\"a\\",@note\\n.balign 8\\n.long 4,16,5\\n.asciz \\"GNU\\"\\n"
                    ".long 0xc0000002,4,3,0\\n.previous");
            """
        place.write(Array(source.utf8), to: "note.c")
        let built = try run([
            "cc", "-shared", "-fPIC", "-nostartfiles", "-I", PluginBuilder.headers, place.file("note.c"), "-o",
            place.file("libcoder-note.so"),
        ])
        #expect(built.status == 0, "\(built.stderr)")

        let file = try File(reading: place.file("libcoder-note.so"))
        let image = try ELFImage(file, size: try file.status().size)

        #expect(image.notes.contains { $0.owner == Array("CoderHost\0".utf8) })
    }
}
