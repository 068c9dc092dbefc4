import CoderPluginKit
import WebPCodec

let plugin = CoderPlugin(
    id: "org.coderhost.webp-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.webp", decoder: WebPDecoder.self, encoder: WebPEncoder.self, rewriter: WebPRewriter.self,
            roles: [.metadata, .scale, .region, .incremental])
    ])
