import CoderPluginKit
import JPEGCodec

let plugin = CoderPlugin(
    id: "org.coderhost.jpeg-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.jpeg", decoder: JPEGDecoder.self, encoder: JPEGEncoder.self,
            rewriter: JPEGRewriter.self,
            roles: [.metadata, .scale, .region, .incremental])
    ])
