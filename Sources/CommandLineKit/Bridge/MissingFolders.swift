import Glibc
import HostSystem
package import ImageModel

/// Creates the missing folders of an output.
///
/// - Throws: `.cannotCreate`.
package func makeMissingFolders(of path: String) throws(CoderError) {
    let folder = FileName(path).folder
    guard !folder.isEmpty, FileStatus.of(folder) == nil else { return }
    var place = folder.hasPrefix("/") ? "/" : ""
    for part in folder.split(separator: "/") {
        place += "\(part)/"
        if unsafe mkdir(place, 0o777) == 0 || errno == EEXIST { continue }
        let error = SystemError.last
        if FileStatus.of(place)?.isDirectory == true { continue }
        throw CoderError(
            .cannotCreate, "the folder \(place) cannot be created: \(error)",
            hint: "check its permissions, or choose another folder")
    }
}
