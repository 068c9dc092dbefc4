import AVIFCodec
import CoderPluginKit

let plugin = CoderPlugin(
    id: "org.coderhost.avif-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.avif", decoder: AVIFDecoder.self, encoder: AVIFEncoder.self, rewriter: AVIFRewriter.self,
            roles: [.metadata, .region, .encode, .encodeAnimation])
    ])
