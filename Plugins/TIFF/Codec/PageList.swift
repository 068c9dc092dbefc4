internal import CoderPluginKit
internal import ImageModel

/// The directories of a file and their roles.
///
/// A smaller version of a page is stored in one of three ways: as a subordinate directory (tag 330), as a following
/// directory with the flag "reduced" (tag 254), or, by some writers, as following tiled pages that each have half the
/// size of the previous one.
struct PageList {
    struct Member {
        let offset: Int
        let size: PixelSize
        var role: ImageItem.Role
        /// The number of the page to which it belongs.
        let owner: Int?
    }

    private(set) var members: [Member] = []
    /// A defect of the chain.
    private(set) var damage: String?

    private static let (subfileType, width, height, subordinate, tileWidth) = (254, 256, 257, 330, 322)
    private static let (reduced, mask) = (1, 4)

    /// - Parameter limit: the largest number of directories.
    init(_ reader: DirectoryReader, limit: Int) {
        var seen: Set<Int> = []
        var next = reader.first
        var page: (number: Int, size: PixelSize, last: PixelSize)?
        while let offset = next {
            guard seen.insert(offset).inserted else {
                damage = "the chain of directories returns to byte \(offset)"
                break
            }
            guard members.count < limit else {
                damage = "only the first \(limit) directories are read"
                break
            }
            guard let directory = reader.directory(at: offset) else {
                if !members.isEmpty { damage = "the directory at byte \(offset) is not in the file" }
                break
            }
            let size = Self.size(directory, reader)
            let flags = reader.numbers(directory[Self.subfileType]).first ?? 0
            if let page, flags & Self.mask != 0 {
                append(offset, size, .auxiliary, page.number)
            } else if let whole = page, flags & Self.reduced != 0 {
                append(offset, size, Self.smaller(size, than: whole.size), whole.number)
            } else if let whole = page, directory[Self.tileWidth] != nil, Self.isHalf(size, of: whole.last) {
                append(offset, size, .level, whole.number)
                page?.last = size
            } else {
                page = (members.count, size, size)
                append(offset, size, members.isEmpty ? .primary : .page, nil)
            }
            let owner = page?.number ?? 0
            for child in reader.numbers(directory[Self.subordinate], limit: 64) {
                guard members.count < limit, seen.insert(child).inserted, let below = reader.directory(at: child)
                else { continue }
                let size = Self.size(below, reader)
                let flags = reader.numbers(below[Self.subfileType]).first ?? 0
                let whole = page?.size ?? .zero
                append(
                    child, size,
                    flags & Self.mask != 0
                        ? .auxiliary
                        : flags & Self.reduced != 0 || size.width < whole.width
                            ? Self.smaller(size, than: whole) : .alternative, owner)
            }
            next = directory.next
        }
    }

    private mutating func append(_ offset: Int, _ size: PixelSize, _ role: ImageItem.Role, _ owner: Int?) {
        members.append(Member(offset: offset, size: size, role: role, owner: owner))
    }

    private static func size(_ directory: Directory, _ reader: DirectoryReader) -> PixelSize {
        PixelSize(
            reader.numbers(directory[width]).first ?? 0, reader.numbers(directory[height]).first ?? 0)
    }

    /// A level has the aspect of the page, except for rounding; a thumbnail may have another.
    private static func smaller(_ size: PixelSize, than whole: PixelSize) -> ImageItem.Role {
        let limit = 1 << 31
        guard !size.isEmpty, size.width <= whole.width, size.height <= whole.height, whole.width < limit,
            whole.height < limit
        else { return .thumbnail }
        let difference = abs(size.width * whole.height - size.height * whole.width)
        return difference <= max(whole.width, whole.height) ? .level : .thumbnail
    }

    private static func isHalf(_ size: PixelSize, of whole: PixelSize) -> Bool {
        size.width < whole.width && size.height < whole.height && !size.isEmpty
            && abs(2 * size.width - whole.width) <= 1 && abs(2 * size.height - whole.height) <= 1
    }
}
