import CCoderPlugin
import CoderHost

enum ManifestChecks {
    static let all = [note]

    /// Nothing runs without a manifest, so this is judged before there are any checks; it is listed to be seen.
    static let note = Check(
        "manifest.note", "there is one manifest note, with a manifest in it", isStatic: true
    ) { workshop throws(Stop) in
        _ = workshop.manifest
    }
}
