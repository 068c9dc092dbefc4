import CoderPluginKit
import PSDCodec

let plugin = CoderPlugin(
    id: "org.coderhost.psd-plugin", version: "0.1.0",
    coders: [
        Coder(id: "org.coderhost.psd", decoder: PSDDecoder.self, roles: [.decode, .region, .metadata])
    ])
