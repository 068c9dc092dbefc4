import FuzzTargets
import TestSupport
import Testing

@testable import FuzzDriver

/// Runs the driver as a separate process: a crash there is a failure here.
private enum Driver {
    static let path = "\(Repository.products)/coderhost-fuzz"

    static func run(_ arguments: [String], timeout: Duration = .seconds(600)) throws -> CommandResult {
        let result = try TestSupport.run(
            [path] + arguments, environment: ["CODERHOST_PRODUCTS": Repository.products], timeout: timeout)
        #expect(!result.timedOut, "the driver hung")
        return result
    }
}

extension CommandResult {
    /// Lines of columns.
    fileprivate var table: [[String]] {
        stdout.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    }
    fileprivate var findings: [[String]] { table.filter { $0.first == "finding" } }
}

/// Short runs with the same cases every time; `make fuzz` and `make prove` run longer.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `Untrusted bytes` {
    @Test func `a run detects a crash, a hang and a wrong result, and keeps all three`() throws {
        let kept = TemporaryDirectory()

        let result = try Driver.run(["run", "planted", "--count", "8", "--keep", kept.path, "--patience", "1"])

        #expect(result.status == 1)
        #expect(result.findings.map { $0[2] } == ["case 2", "case 4", "case 6"])
        #expect(readFile(kept.file("planted-1-2")) == [2])
        #expect(readFile(kept.file("planted-1-4")) == [4])
        #expect(readFile(kept.file("planted-1-6")) == [6])
    }

    @Test func `every target accepts its own inputs and damaged ones`() throws {
        let result = try Driver.run(["run", "--count", "24000"])

        #expect(result.status == 0, "\(result.findings)")
        let counted = result.table.filter { $0.count > 1 && $0[1].hasSuffix(" cases") && $0[0] != "total" }
        #expect(Set(counted.map { $0[0] }) == Set(FuzzTarget.all.map(\.name)))
        #expect(!counted.contains { $0[1] == "0 cases" })
    }

    @Test func `twenty thousand damaged images of every format are decoded or refused with a typed error`() throws {
        let result = try Driver.run(["mutate", "--count", "20000", "--seed", "5"])

        print(result.stdout)
        #expect(result.status == 0, "\(result.findings)")
        let total = try #require(result.table.last)
        #expect(total[0] == "total" && total[1] == "20000 cases")
        // Damage that is always refused at the first byte would test nothing.
        for row in result.table where row[0] != "total" {
            #expect(row[2] != "0 decoded" && row[3] != "0 refused", "\(row)")
        }
    }

    /// The cases are splices of two valid files, files with added metadata, and damaged files.
    @Test func `every format gives the same results in this process and in a worker`() throws {
        let result = try Driver.run(["modes", "--count", "2000", "--seed", "6"])

        print(result.stdout)
        #expect(result.status == 0, "\(result.findings)")
        #expect(try #require(result.table.last)[1] == "2000 cases")
        for row in result.table where row[0] != "total" {
            // A fifth is decoded: containers that are refused at once would compare only error messages.
            let (decoded, refused) = (number(row[2]), number(row[3]))
            #expect(decoded * 5 >= decoded + refused, "\(row)")
            // Few of its cases are refused: any bytes are pixels.
            if row[0] != "modes-pnm" { #expect(refused > 0, "\(row)") }
        }
    }

    private func number(_ text: String) -> Int { Int(text.prefix { $0.isNumber }) ?? 0 }

    @Test func `a decode that is cancelled at any moment frees all resources`() throws {
        let result = try Driver.run(["cancel", "--count", "50", "--side", "320"])

        #expect(result.status == 0, "\(result.stdout)")
        #expect(result.table.last?.contains("0 wrong") == true)
    }

    @Test func `pixels and coder memory together keep the memory limit`() throws {
        let folder = TemporaryDirectory()

        let result = try Driver.run(["memory", "--in", folder.path, "jpeg-progressive", "webp-lossless"])

        print(result.stdout)
        #expect(result.status == 0, "\(result.findings)")
        // A limit that refuses everything or nothing would test nothing.
        #expect(result.stdout.contains("128: done") && result.stdout.contains("32: refused"))
    }

    /// The libraries named in `AllocationSubject` are known to end the process; `make prove` tests them as well.
    @Test func `a coder without memory ends with a typed error or the right pixels`() throws {
        let folder = TemporaryDirectory()
        let library = folder.file("allocation_fault.so")
        let source = "\(Repository.root)/Tests/AllocationFailure"
        let compiler = try TestSupport.run([
            "c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-I\(source)/include", "\(source)/allocation_fault.cpp",
            "-o", library, "-ldl",
        ])
        try #require(compiler.status == 0, "\(compiler.stderr)")
        let subjects = AllocationSubject.all.filter { $0.faulty == nil }.map(\.name)

        let result = try Driver.run(["allocations", "--preload", library, "--dense", "40"] + subjects)

        #expect(result.status == 0, "\(result.findings)")
        #expect(result.table.count == subjects.count + 1)
        #expect(result.table.contains { $0.count > 4 && $0[4] != "0 out of memory" })
    }

    @Test(arguments: Seeds.files("Fixtures/found").filter { $0.split(separator: "/").count == 4 })
    func `earlier findings do not recur`(file: String) throws {
        let target = file.split(separator: "/")[2]

        let result = try Driver.run(["case", String(target), "\(Repository.root)/\(file)"])

        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
    }
}

/// Small files that request many resources; made on demand.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `Bombs` {
    @Test func `exist for every format, with unique names`() {
        let suffixes = Set(Bomb.all.compactMap { $0.name.split(separator: ".").last })

        #expect(Bomb.all.count >= 60)
        let spared = Set(["apng", "cur", "icns", "wbmp"])
        for format in BundledPlugin.formats("decode") where !spared.contains(format.id) {
            #expect(!suffixes.isDisjoint(with: format.extensions.map { Substring($0) }), "\(format.id)")
        }
        #expect(suffixes.isSuperset(of: ["pam", "ppm", "pgm", "pbm"]))
        #expect(Set(Bomb.all.map(\.name)).count == Bomb.all.count)
    }

    @Test(arguments: ["default", "strict"])
    func `cost the command one typed error and little memory`(profile: String) throws {
        let folder = TemporaryDirectory()
        #expect(try Driver.run(["bombs", "--write", folder.path]).status == 0)

        let result = try Driver.run(["bombs", "--in", folder.path, "--limits", profile])

        #expect(result.status == 0, "\(result.findings)")
        #expect(result.table.count { $0.count == 5 && $0[0] != "total" } == 2 * Bomb.all.count)
    }
}
