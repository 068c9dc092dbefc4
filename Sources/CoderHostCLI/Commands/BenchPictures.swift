import CoderHost
import ImageModel

/// A picture that is measured with, as its header describes it.
struct BenchPicture {
    var file: String
    /// Its place among all.
    var order: Int
    var format: ImageFormat
    var size: PixelSize
    var frameCount: Int
    var hasAlpha: Bool
    var isDeep: Bool
    var byteCount: Int
    var isolation: IsolationReport?

    init(_ file: String, order: Int, _ host: CoderHost) throws(CoderError) {
        guard FileStatus.of(file)?.isRegular != false else {
            throw .invalidArgument("it can be read only once", hint: "save it to a file first")
        }
        let source = try ImageSource(path: file, limits: host.manager.limits)
        let session = try host.manager.openSession(source)
        self.file = file
        self.order = order
        format = session.format
        size = session.info.size
        frameCount = try session.frames().count
        hasAlpha = session.info.hasAlpha
        isDeep = session.info.nativeFormat.bits > 8
        byteCount = source.count
        isolation = session.isolation
    }
}

/// The pictures that somebody named, and those in folders.
struct BenchPictures {
    var pictures: [BenchPicture] = []
    /// Files that are no pictures, or none that can be read; `isNamed` where it was not only found in a folder.
    private(set) var skipped: [(file: String, error: CoderError, isNamed: Bool)] = []

    init(_ operands: [String], _ host: CoderHost) {
        for operand in operands {
            if FileStatus.of(operand)?.isDirectory == true {
                walk(operand.hasSuffix("/") ? operand : operand + "/", host)
            } else {
                add(operand, isNamed: true, host)
            }
        }
    }

    /// Everything below a folder, sorted; links to folders are not followed.
    private mutating func walk(_ folder: String, _ host: CoderHost) {
        let names: [String]
        do {
            names = try directoryEntries(folder)
        } catch {
            skipped.append((folder, CoderError(.inputOutput, "it cannot be read: \(error)"), true))
            return
        }
        for name in names where Interruption.signal == nil {
            let path = folder + name
            guard let status = FileStatus.of(path, followingLinks: false) else { continue }
            if status.isDirectory {
                walk(path + "/", host)
            } else if FileStatus.of(path)?.isRegular == true {
                add(path, isNamed: false, host)
            }
        }
    }

    private mutating func add(_ file: String, isNamed: Bool, _ host: CoderHost) {
        if file == "-" {
            let problem = CoderError.invalidArgument(
                "standard input can be read only once", hint: "save it to a file first")
            skipped.append((file, problem, true))
            return
        }
        do throws(CoderError) {
            pictures.append(try BenchPicture(file, order: pictures.count, host))
        } catch {
            skipped.append((file, error, isNamed))
        }
    }
}
