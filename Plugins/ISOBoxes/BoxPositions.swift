internal import CoderPluginKit
package import ImageModel

/// Checks that each item list appears once and in its proper parent box.
///
/// libheif 1.15 reads a known box at any position. It takes the last `meta` box of the file and the first of most boxes
/// in it. With a repeated list, ``ItemTable`` and libheif could read different ones.
package enum BoxPositions {
    /// The parent of each box. libheif allocates memory for every box it finds.
    private static let parents: [FourCC: FourCC] = [
        "pitm": "meta", "iloc": "meta", "iinf": "meta", "iref": "meta", "iprp": "meta", "idat": "meta",
        "grpl": "meta", "dinf": "meta", "infe": "iinf", "ipco": "iprp", "ipma": "iprp", "dref": "dinf",
        "meta": "file",
    ]
    private static let repeated: Set<FourCC> = ["infe", "ipma"]
    /// Boxes whose children libheif reads, and the number of bytes in front of the first child.
    private static let containers: [FourCC: Int] = ["iinf": 0, "iprp": 0, "ipco": 0, "dinf": 0, "dref": 8]

    /// - Parameter meta: the payload of the `meta` box behind version and flags.
    package static func check(_ meta: BoxCursor) throws(CoderError) { try check(meta, in: "meta", depth: 0) }

    private static func check(_ boxes: BoxCursor, in parent: FourCC, depth: Int) throws(CoderError) {
        // libheif reads at most 20 nested levels.
        if depth > 20 { throw .limit("nesting", allowed: 20, requested: depth) }
        var boxes = boxes
        var seen: Set<FourCC> = []
        // A damaged list of items ends there, for ItemTable, too.
        while let box = parent == "iinf" ? boxes.nextBox() : try boxes.box() {
            try check(box.type, in: parent, &seen)
            guard let skipped = containers[box.type] else { continue }
            var inside = boxes.inside(box)
            if box.type == "iinf" {
                try inside.skip(try inside.fullBox().version == 0 ? 2 : 4)
            } else {
                try inside.skip(skipped)
            }
            try check(inside, in: box.type, depth: depth + 1)
        }
    }

    /// - Parameter seen: the boxes of these types found in `parent` so far.
    package static func check(_ type: FourCC, in parent: FourCC, _ seen: inout Set<FourCC>) throws(CoderError) {
        guard let place = parents[type] else { return }
        guard place == parent else { throw .corrupt("a '\(type)' box is inside a '\(parent)' box") }
        guard seen.insert(type).inserted || repeated.contains(type) else {
            throw .corrupt("a '\(type)' box appears twice")
        }
    }
}
