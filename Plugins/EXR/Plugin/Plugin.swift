import CoderPluginKit
import EXRCodec

let plugin = CoderPlugin(
    id: "org.coderhost.exr-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.exr", decoder: EXRDecoder.self, encoder: EXREncoder.self,
            roles: [.decode, .encode, .scale, .region, .metadata])
    ])
