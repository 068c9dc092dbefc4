/// One of the images that a file holds.
public struct ImageItem: Sendable, Hashable {
    /// The role of an item in the file.
    public enum Role: UInt32, Sendable, Hashable, CaseIterable {
        /// The image that a decoder opens by default.
        case primary = 1
        /// An independent image: a page, or a further image of a collection.
        case page = 2
        /// The same content in another form: another icon size, another encoding.
        case alternative = 3
        /// A smaller level of an image pyramid.
        case level = 4
        /// A small version of another item.
        case thumbnail = 5
        /// Alpha, depth, a gain map or the like of another item.
        case auxiliary = 6

        /// The name in JSON and in the list of items.
        package var name: String { "\(self)" }
    }

    /// The role of the item.
    public var role: Role
    /// The number of the item to which this item belongs.
    package var owner: Int?
    /// The group of items that belong together: a burst, a stereo pair.
    package var group: Int?
    /// The name stored in the file.
    public var name: String?
    /// The URN of the kind of an auxiliary image.
    package var kind: String?
    /// The properties of the item's image.
    public var info: ImageInfo

    /// Creates the description of an item.
    public init(
        _ role: Role, info: ImageInfo, owner: Int? = nil, group: Int? = nil, name: String? = nil, kind: String? = nil
    ) {
        self.role = role
        self.info = info
        self.owner = owner
        self.group = group
        self.name = name
        self.kind = kind
    }
}

/// The place of an image in an output with several images.
public struct ItemDescription: Sendable, Hashable {
    /// The role of the item.
    public var role: ImageItem.Role
    /// The number of the earlier item to which this item belongs; the first item has number 0.
    public var owner: Int?
    /// The group of items that belong together: a burst, a stereo pair.
    public var group: Int?
    /// The name to store in the file.
    public var name: String?
    /// The URN of the kind of an auxiliary image.
    public var kind: String?

    /// Creates a description.
    public init(
        _ role: ImageItem.Role, owner: Int? = nil, group: Int? = nil, name: String? = nil, kind: String? = nil
    ) {
        self.role = role
        self.owner = owner
        self.group = group
        self.name = name
        self.kind = kind
    }
}
