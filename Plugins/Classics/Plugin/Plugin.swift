import ClassicsCodec
import CoderPluginKit

let plugin = CoderPlugin(id: "org.coderhost.classics-plugin", version: "0.1.0", coders: Classics.coders)
