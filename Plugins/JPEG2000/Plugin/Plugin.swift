import CoderPluginKit
import JPEG2000Codec

let plugin = CoderPlugin(
    id: "org.coderhost.jp2-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.jp2", decoder: JP2Decoder.self, encoder: JP2Encoder.self,
            roles: [.decode, .encode, .scale, .region, .metadata])
    ])
