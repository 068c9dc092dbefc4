import APNGCodec
import CoderPluginKit

let plugin = CoderPlugin(
    id: "org.coderhost.apng-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.apng", decoder: APNGDecoder.self, encoder: APNGEncoder.self, rewriter: APNGRewriter.self,
            roles: [.decode, .animation, .encodeAnimation, .incremental, .metadata])
    ])
