import CoderPluginKit
import GIFCodec

let plugin = CoderPlugin(
    id: "org.coderhost.gif-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.gif", decoder: GIFDecoder.self, encoder: GIFEncoder.self, rewriter: GIFRewriter.self,
            roles: [.decode, .encode, .animation, .encodeAnimation, .incremental, .metadata])
    ])
