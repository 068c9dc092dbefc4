/// What would open a hole in the process that loads a file, found without loading it.
///
/// - Source: System V ABI, chapter 5; GNU extensions as in glibc's `elf.h`.
package struct ELFGate {
    package struct Problem: Hashable {
        package var reason: String
        package var remedy: String
    }

    /// Doubts about folders, kept because plugins share them.
    private var known: [String: PathTrust.Doubt?] = [:]

    private enum Segment {
        static let load: UInt32 = 1
        static let stack: UInt32 = 0x6474_E551  // PT_GNU_STACK
        static let executable: UInt32 = 1
        static let writable: UInt32 = 2
    }

    private enum Dynamic {
        static let textRelocations: UInt64 = 22  // DT_TEXTREL
        static let flags: UInt64 = 30  // DT_FLAGS
        static let flags1: UInt64 = 0x6FFF_FFFB  // DT_FLAGS_1
        /// DT_AUXILIARY, DT_FILTER, DT_AUDIT, DT_DEPAUDIT: libraries that are loaded, too, but stand in no list.
        static let others: [UInt64: String] = [
            0x7FFF_FFFD: "DT_AUXILIARY", 0x7FFF_FFFF: "DT_FILTER", 0x6FFF_FEFC: "DT_AUDIT", 0x6FFF_FEFB: "DT_DEPAUDIT",
        ]
    }

    /// The first thing that speaks against a file; nil when nothing does.
    ///
    /// - Parameters:
    ///   - folder: what `$ORIGIN` stands for.
    ///   - isTrusted: whether nobody else can put a library there; where somebody can, a plugin that needs one of them
    ///     is refused for that.
    mutating func examine(_ image: ELFImage, in folder: String, isTrusted: Bool) -> Problem? {
        Self.memory(of: image) ?? libraries(of: image, folder, isTrusted)
    }

    /// What of the memory that a file asks for speaks against it.
    package static func memory(of image: ELFImage) -> Problem? {
        for segment in image.segments where segment.type == Segment.load {
            if segment.flags & Segment.executable != 0 && segment.flags & Segment.writable != 0 {
                return Problem(
                    reason: "a part of it is writable and executable at once",
                    remedy: "link it without -N, --omagic and RWX sections")
            }
        }
        guard let stack = image.segments.last(where: { $0.type == Segment.stack }) else {
            return Problem(
                reason:
                    "it does not say that it needs no executable stack, so the loader would make the stack executable",
                remedy: "link it with -z noexecstack")
        }
        if stack.flags & Segment.executable != 0 {
            return Problem(
                reason: "it asks for an executable stack",
                remedy: "link it with -z noexecstack; assembly needs .section .note.GNU-stack,\"\",@progbits")
        }
        if image.dynamic[Dynamic.textRelocations] != nil || (image.dynamic[Dynamic.flags] ?? 0) & 4 != 0 {
            return Problem(
                reason: "its code has to be written to when it is loaded (TEXTREL)",
                remedy: "compile all of it with -fPIC and link it with -z text")
        }
        if (image.dynamic[Dynamic.flags1] ?? 0) & 0x0800_0000 != 0 {  // DF_1_PIE
            return Problem(reason: "it is a program and no library", remedy: "link it with -shared")
        }
        return nil
    }

    private mutating func libraries(of image: ELFImage, _ folder: String, _ isTrusted: Bool) -> Problem? {
        for (tag, name) in Dynamic.others where image.dynamic[tag] != nil {
            return Problem(
                reason: "it has the loader put another library in front of it (\(name))", remedy: "link it anew")
        }
        for name in image.needed where name.utf8.contains(UInt8(ascii: "/")) {
            guard name.hasPrefix("/") else {
                return Problem(
                    reason: "it needs \(name), which is another file in every working directory",
                    remedy: "give that library a soname without a path, and link again")
            }
            if let doubt = doubt(parentFolder(name)) ?? file(name) {
                return Problem(
                    reason: "it needs \(name): \(doubt.component): \(doubt.reason)", remedy: doubt.remedy)
            }
        }
        for entry in image.runPath {
            guard let place = Self.place(entry, folder) else {
                return Problem(
                    reason: "its run path has \"\(entry)\", which is neither $ORIGIN nor an absolute folder",
                    remedy: "link it with -rpath '$ORIGIN', or: patchelf --set-rpath '$ORIGIN' FILE")
            }
            if entry.hasPrefix("$") && !isTrusted { continue }
            if let doubt = doubt(place) {
                return Problem(
                    reason: "its run path has \(entry): \(doubt.component): \(doubt.reason)",
                    remedy: "\(doubt.remedy), or: patchelf --remove-rpath FILE")
            }
        }
        return nil
    }

    /// The folder that an entry of a run path stands for; nil where it depends on something else.
    private static func place(_ entry: String, _ folder: String) -> String? {
        var result = entry
        for token in ["$ORIGIN", "${ORIGIN}"] where entry == token || entry.hasPrefix("\(token)/") {
            result = folder + entry.dropFirst(token.count)
        }
        return result.hasPrefix("/") && !result.utf8.contains(UInt8(ascii: "$")) ? result : nil
    }

    private func file(_ path: String) -> PathTrust.Doubt? {
        FileStatus.of(path).flatMap { PathTrust.examine(file: path, $0) }
    }

    private mutating func doubt(_ folder: String) -> PathTrust.Doubt? {
        if let known = known[folder] { return known }
        let doubt = PathTrust.examine(directory: folder)
        known[folder] = .some(doubt)
        return doubt
    }
}
