import BMPCodec
import CoderPluginKit

let plugin = CoderPlugin(
    id: "org.coderhost.bmp-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.bmp", decoder: BMPDecoder.self, encoder: BMPEncoder.self,
            roles: [.decode, .encode, .incremental, .region, .metadata])
    ])
