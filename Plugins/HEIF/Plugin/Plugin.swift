import CoderPluginKit
import HEIFCodec

let plugin = CoderPlugin(
    id: "org.coderhost.heif-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.heif", decoder: HEIFDecoder.self, encoder: HEICEncoder.self, rewriter: HEIFRewriter.self,
            roles: [.metadata, .region]),
        Coder(
            id: "org.coderhost.heif-avif", decoder: HEIFDecoder.self, encoder: AVIFEncoder.self,
            rewriter: HEIFRewriter.self,
            roles: [.metadata, .region]),
    ])
