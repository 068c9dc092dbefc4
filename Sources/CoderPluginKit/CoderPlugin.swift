// Plugin authors import only the kit, which re-exports the image types.
@_exported public import ImageModel

/// A plugin: the export of a plugin file.
///
/// A plugin target contains one global of this type, named `plugin`, and a `manifest.json`. The build plugin
/// `EmbedManifest` embeds the manifest in the file and exports the entry point.
///
///     let plugin = CoderPlugin(
///         id: "org.example.farbfeld-plugin", version: "1.0.0",
///         coders: [Coder(id: "org.example.farbfeld", decoder: FarbfeldDecoder.self, encoder: FarbfeldEncoder.self)])
public struct CoderPlugin: Sendable {
    /// The reverse-DNS identifier, as in the manifest.
    public var id: String
    /// The version, as in the manifest.
    public var version: String
    /// The coders, in the order of the manifest.
    public var coders: [Coder]
    /// Whether the host must let only one thread at a time into the plugin.
    public var isSerial: Bool

    /// Creates a plugin.
    public init(id: String, version: String, coders: [Coder], isSerial: Bool = false) {
        self.id = id
        self.version = version
        self.coders = coders
        self.isSerial = isSerial
    }
}

/// The ability to decode and/or encode one format family.
public struct Coder: Sendable {
    /// The reverse-DNS identifier, as in the manifest.
    public var id: String
    /// The type of the decoder, if any.
    public var decoder: (any ImageDecoder.Type)?
    /// The type of the encoder, if any.
    public var encoder: (any ImageEncoder.Type)?
    /// The type of the rewriter, if any.
    public var rewriter: (any ImageRewriter.Type)?
    /// The type of the transcoder, if any.
    public var transcoder: (any ImageTranscoder.Type)?
    /// The abilities of the coder.
    public var roles: CoderRoles

    /// Describes a coder.
    ///
    /// The roles `.decode`, `.encode`, `.animation`, `.items`, `.rewrite`, `.transcode` and `.encodeItems` follow from
    /// the types; `roles` adds the others. An encoder with the role `.encodeAnimation` also encodes stills only if `roles`
    /// contains `.encode`.
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
        if encoder is any ItemEncoder.Type { self.roles.insert(.encodeItems) }
        if encoder != nil, !roles.contains(.encodeAnimation) { self.roles.insert(.encode) }
    }
}
