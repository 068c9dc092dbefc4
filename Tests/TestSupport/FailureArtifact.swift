import Foundation
public import ImageModel

/// Keeps the image of a failed comparison for inspection.
///
///     #expect(PixelDigest.of(buffer) == expected, "\(FailureArtifact.keep(buffer, as: fixture.name))")
public enum FailureArtifact {
    /// The environment variable with the folder.
    public static let variable = "CODERHOST_TEST_ARTIFACTS"

    /// Writes the pixels as RGBA into a PAM file; returns its path, or the way to enable it if no folder is set.
    public static func keep(_ buffer: PixelBuffer, as name: String) -> String {
        guard let folder = ProcessInfo.processInfo.environment[variable], !folder.isEmpty else {
            return "set \(variable) to a folder to see the image"
        }
        return keep(buffer, as: name, in: folder)
    }

    /// Writes the pixels as RGBA into a PAM file in `folder`; returns its path.
    public static func keep(_ buffer: PixelBuffer, as name: String, in folder: String) -> String {
        let file = name.split(separator: "/").joined(separator: "-") + ".pam"
        let place = URL(filePath: folder).appending(path: file)
        let header = """
            P7
            WIDTH \(buffer.size.width)
            HEIGHT \(buffer.size.height)
            DEPTH 4
            MAXVAL 255
            TUPLTYPE RGB_ALPHA
            ENDHDR

            """
        do {
            try FileManager.default.createDirectory(at: URL(filePath: folder), withIntermediateDirectories: true)
            try Data(Array(header.utf8) + PixelDigest.rgba8(buffer)).write(to: place)
            return "the image is in \(place.path)"
        } catch {
            return "the image could not be written to \(place.path): \(error)"
        }
    }
}
