import CoderPluginKit
import IconsCodec

let plugin = CoderPlugin(
    id: "org.coderhost.ico-plugin", version: "0.1.0",
    coders: [
        Coder(
            id: "org.coderhost.ico", decoder: IconDecoder.self, encoder: ICOEncoder.self,
            roles: [.decode, .encode, .metadata, .items, .encodeItems]),
        Coder(id: "org.coderhost.icons", decoder: IconDecoder.self, roles: [.decode, .metadata, .items]),
    ])
