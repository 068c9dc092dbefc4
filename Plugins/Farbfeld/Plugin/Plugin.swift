import CoderPluginKit
import FarbfeldCodec

let plugin = CoderPlugin(
    id: "org.coderhost.farbfeld-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.farbfeld", decoder: FarbfeldDecoder.self, encoder: FarbfeldEncoder.self,
            roles: [.decode, .encode, .incremental])
    ])
