import CoderHost
import ImageModel

/// A test image, as its header describes it.
struct BenchImage {
    var file: String
    /// The position among all images.
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
            throw .invalidArgument(
                "not a regular file: bench reads its input repeatedly", hint: "save it to a file first")
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

/// The images among the operands, including all images in folders.
struct BenchImages {
    var images: [BenchImage] = []
    /// Files that are not readable images; `isNamed` is false for files found in folders.
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

    /// Adds all files below a folder in sorted order; does not follow links to folders.
    private mutating func walk(_ folder: String, _ host: CoderHost) {
        let names: [String]
        do {
            names = try directoryEntries(folder)
        } catch {
            skipped.append((folder, CoderError(.inputOutput, "cannot read the folder: \(error)"), true))
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
                "bench cannot read standard input repeatedly", hint: "save it to a file first")
            skipped.append((file, problem, true))
            return
        }
        do throws(CoderError) {
            images.append(try BenchImage(file, order: images.count, host))
        } catch {
            skipped.append((file, error, isNamed))
        }
    }
}
