import AWebPCodec
import CoderPluginKit

let plugin = CoderPlugin(
    id: "org.coderhost.awebp-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.awebp", decoder: AWebPDecoder.self, encoder: AWebPEncoder.self,
            rewriter: AWebPRewriter.self,
            roles: [.metadata, .incremental, .encodeAnimation])
    ])
