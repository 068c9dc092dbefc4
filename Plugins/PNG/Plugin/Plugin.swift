import CoderPluginKit
import PNGCodec

let plugin = CoderPlugin(
    id: "org.coderhost.png-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.png", decoder: PNGDecoder.self, encoder: PNGEncoder.self, rewriter: PNGRewriter.self,
            roles: [.decode, .encode, .incremental, .scale, .metadata])
    ])
