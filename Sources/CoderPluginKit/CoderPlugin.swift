// An author imports the kit alone and has the vocabulary with it.
@_exported public import ImageModel

/// A plugin: what a dropped-in file exports.
///
/// A plugin target holds one global of this type, named `plugin`, and a `manifest.json`. The build plugin
/// `EmbedManifest` puts the manifest into the file and exports the entry point; nothing else is needed.
///
///     let plugin = CoderPlugin(
///         id: "org.example.farbfeld-plugin", version: "1.0.0",
///         coders: [Coder(id: "org.example.farbfeld", decoder: FarbfeldDecoder.self, encoder: FarbfeldEncoder.self)])
public struct CoderPlugin: Sendable {
    public var id: String
    public var version: String
    public var coders: [Coder]
    /// Whether the host must let only one thread into the plugin at a time.
    public var isSerial: Bool

    public init(id: String, version: String, coders: [Coder], isSerial: Bool = false) {
        self.id = id
        self.version = version
        self.coders = coders
        self.isSerial = isSerial
    }
}

/// The ability to decode and/or encode one format family.
public struct Coder: Sendable {
    public var id: String
    public var decoder: (any ImageDecoder.Type)?
    public var encoder: (any ImageEncoder.Type)?
    public var rewriter: (any ImageRewriter.Type)?
    public var transcoder: (any ImageTranscoder.Type)?
    public var roles: CoderRoles

    /// Describes a coder; `.decode`, `.encode`, `.animation`, `.items`, `.rewrite` and `.transcode` follow from the types,
    /// `roles` states the rest.
    ///
    /// An encoder with the role `.encodeAnimation` is one of stills too only if `roles` says `.encode`.
    public init(
        id: String, decoder: (any ImageDecoder.Type)? = nil, encoder: (any ImageEncoder.Type)? = nil,
        rewriter: (any ImageRewriter.Type)? = nil, transcoder: (any ImageTranscoder.Type)? = nil,
        roles: CoderRoles = []
    ) {
        self.id = id
        self.decoder = decoder
        self.encoder = encoder
        self.rewriter = rewriter
        self.transcoder = transcoder
        self.roles = roles
        if let decoder {
            self.roles.insert(.decode)
            if decoder is any AnimationDecoder.Type { self.roles.insert(.animation) }
            if decoder is any ItemDecoder.Type { self.roles.insert(.items) }
            if decoder is any ThumbnailDecoder.Type { self.roles.insert(.items) }
        }
        if rewriter != nil { self.roles.insert(.rewrite) }
        if transcoder != nil { self.roles.insert(.transcode) }
        if encoder != nil, !roles.contains(.encodeAnimation) { self.roles.insert(.encode) }
    }
}
