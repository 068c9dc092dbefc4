import CoderPluginKit
import EXRCodec

let plugin = CoderPlugin(
    id: "org.coderhost.exr-plugin", version: "0.1.0",
    coders: [
        Coder(id: "org.coderhost.exr", decoder: EXRDecoder.self, roles: [.decode, .scale, .region, .metadata])
    ])
