/// One of the images that a file holds.
public struct ImageItem: Sendable, Hashable {
    /// What an item is to the file.
    public enum Role: UInt32, Sendable, Hashable, CaseIterable {
        /// The image that a decoder opens unless another one is selected.
        case primary = 1
        /// An image of its own: a page, or a further image of a collection.
        case page = 2
        /// The same content in another form: another size of an icon, another encoding.
        case alternative = 3
        /// A smaller level of a pyramid.
        case level = 4
        /// A small version of another item.
        case thumbnail = 5
        /// Alpha, depth, a gain map or the like of another item.
        case auxiliary = 6

        /// The name in JSON and in the list of items.
        public var name: String { "\(self)" }
    }

    public var role: Role
    /// The number of the item that this one belongs to.
    public var owner: Int?
    /// Items of one group belong together: a burst, a stereo pair.
    public var group: Int?
    /// The name in the file.
    public var name: String?
    /// The URN that names the kind of an auxiliary image.
    public var kind: String?
    /// The facts of its image.
    public var info: ImageInfo

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
