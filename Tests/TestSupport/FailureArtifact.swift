import Foundation
public import ImageModel

/// Keeps the picture of a failed comparison for a person to look at.
///
///     #expect(PixelDigest.of(buffer) == expected, "\(FailureArtifact.keep(buffer, as: fixture.name))")
public enum FailureArtifact {
    /// The variable of the environment that names the folder.
    public static let variable = "CODERHOST_TEST_ARTIFACTS"

    /// Writes the pixels as RGBA into a PAM file and says where; says how to get one if no folder is named.
    public static func keep(_ buffer: PixelBuffer, as name: String) -> String {
        guard let folder = ProcessInfo.processInfo.environment[variable], !folder.isEmpty else {
            return "set \(variable) to a folder to see the picture"
        }
        return keep(buffer, as: name, in: folder)
    }

    /// Writes the pixels as RGBA into a PAM file in `folder` and says where.
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
            return "the picture is in \(place.path)"
        } catch {
            return "the picture could not be kept in \(place.path): \(error)"
        }
    }
}
