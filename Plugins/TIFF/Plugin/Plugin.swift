import CoderPluginKit
import TIFFCodec

let plugin = CoderPlugin(
    id: "org.coderhost.tiff-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.tiff", decoder: TIFFDecoder.self, encoder: TIFFEncoder.self,
            roles: [.decode, .encode, .scale, .region, .metadata])
    ])
