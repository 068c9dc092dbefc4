package import ImageModel

/// The position of a piece of an item.
package struct ItemExtent {
    /// 0: relative to the start of the file, 1: to the `idat` box; other values are not supported.
    package var method: Int
    package var offset: UInt64
    /// 0: up to the end.
    package var length: UInt64
}

/// One item of the `meta` box: a coded image, a derived image, or metadata.
package struct Item {
    package let id: UInt32
    package var type: FourCC
    package var name = ""
    package var isHidden = false
    package var contentType = ""
    package var contentEncoding = ""
    package var extents: [ItemExtent] = []
    package var properties: [ItemAssociation] = []
    /// The reason why the item cannot be used; other items of the file can.
    package var damage: CoderError?

    /// Whether libheif 1.15 decodes it, or would try to.
    package var isImage: Bool { ["hvc1", "av01", "grid", "iden", "iovl"].contains(type) }
    package var isDerived: Bool { ["grid", "iden", "iovl"].contains(type) }
}

/// A property of an item.
package struct ItemAssociation {
    package let index: Int
    /// Whether a reader that does not support the property must not show the item.
    package let isEssential: Bool
}

/// A group of items.
///
/// - Source: ISO/IEC 14496-12 section 8.18.3.
package struct EntityGroup {
    package let type: FourCC
    package let id: UInt32
    package let members: [UInt32]
}

/// A link from one item to others.
package struct ItemReference {
    package let type: FourCC
    package let from: UInt32
    package let to: [UInt32]
}
