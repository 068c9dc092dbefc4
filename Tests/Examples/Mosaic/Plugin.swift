import CoderPluginKit

let plugin = CoderPlugin(
    id: "org.example.mosaic-plugin", version: "1.0.0",
    coders: [
        Coder(
            id: "org.example.mosaic", decoder: MosaicDecoder.self, encoder: MosaicEncoder.self,
            rewriter: MosaicRewriter.self, transcoder: MosaicTranscoder.self, roles: [.scale, .region, .metadata]),
        Coder(id: "org.example.tiles", decoder: MosaicDecoder.self, roles: [.scale, .region, .metadata]),
        Coder(id: "org.example.plan", decoder: PlanDecoder.self, roles: .scale),
    ])
