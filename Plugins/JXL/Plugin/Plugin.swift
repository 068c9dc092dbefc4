import CoderPluginKit
import JXLCodec

let plugin = CoderPlugin(
    id: "org.coderhost.jxl-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.jxl", decoder: JXLDecoder.self, encoder: JXLEncoder.self, transcoder: JXLTranscoder.self,
            roles: [.metadata, .encode, .encodeAnimation])
    ])
