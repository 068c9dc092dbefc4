import HostSystem

/// Finds properties of a shared object that would weaken the process that loads it, without loading it.
///
/// - Source: System V ABI, chapter 5; GNU extensions as in glibc's `elf.h`.
package struct ELFGate {
    package struct Problem: Hashable {
        package var reason: String
        package var remedy: String
    }

    /// Results for folders, cached because plugins share them.
    private var known: [String: PathTrust.Doubt?] = [:]

    package init() {}

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
        /// DT_AUXILIARY, DT_FILTER, DT_AUDIT, DT_DEPAUDIT: libraries that are loaded without being in DT_NEEDED.
        static let others: [UInt64: String] = [
            0x7FFF_FFFD: "DT_AUXILIARY", 0x7FFF_FFFF: "DT_FILTER", 0x6FFF_FEFC: "DT_AUDIT", 0x6FFF_FEFB: "DT_DEPAUDIT",
        ]
    }

    /// Returns the first problem of a file; nil if there is none.
    ///
    /// - Parameters:
    ///   - folder: the folder that replaces `$ORIGIN`.
    ///   - isTrusted: whether only root and the user can write to `folder`. If not, the path check refuses plugins
    ///     that need libraries from there.
    package mutating func examine(_ image: ELFImage, in folder: String, isTrusted: Bool) -> Problem? {
        Self.memory(of: image) ?? libraries(of: image, folder, isTrusted)
    }

    /// Returns the first problem with the segments and the stack of a file.
    package static func memory(of image: ELFImage) -> Problem? {
        for segment in image.segments where segment.type == Segment.load {
            if segment.flags & Segment.executable != 0 && segment.flags & Segment.writable != 0 {
                return Problem(
                    reason: "it has a segment that is both writable and executable",
                    remedy: "link it without -N, --omagic and RWX sections")
            }
        }
        guard let stack = image.segments.last(where: { $0.type == Segment.stack }) else {
            return Problem(
                reason:
                    "it has no GNU_STACK header, so the loader would make the stack executable",
                remedy: "link it with -z noexecstack")
        }
        if stack.flags & Segment.executable != 0 {
            return Problem(
                reason: "it asks for an executable stack",
                remedy: "link it with -z noexecstack; assembly needs .section .note.GNU-stack,\"\",@progbits")
        }
        if image.dynamic[Dynamic.textRelocations] != nil || (image.dynamic[Dynamic.flags] ?? 0) & 4 != 0 {
            return Problem(
                reason: "the loader would have to modify its code (TEXTREL)",
                remedy: "compile all code with -fPIC and link it with -z text")
        }
        if (image.dynamic[Dynamic.flags1] ?? 0) & 0x0800_0000 != 0 {  // DF_1_PIE
            return Problem(reason: "it is a program, not a library", remedy: "link it with -shared")
        }
        return nil
    }

    private mutating func libraries(of image: ELFImage, _ folder: String, _ isTrusted: Bool) -> Problem? {
        for (tag, name) in Dynamic.others where image.dynamic[tag] != nil {
            return Problem(
                reason: "it makes the loader load another library as well (\(name))", remedy: "link it again without")
        }
        for name in image.needed where name.utf8.contains(UInt8(ascii: "/")) {
            guard name.hasPrefix("/") else {
                return Problem(
                    reason: "it needs \(name), a path relative to the working directory",
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
                    reason: "its run path has \"\(entry)\", neither $ORIGIN nor an absolute folder",
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

    /// Returns the folder of a run path entry; nil if it depends on anything but `$ORIGIN`.
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
