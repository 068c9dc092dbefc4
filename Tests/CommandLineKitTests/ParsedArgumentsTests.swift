import CommandLineKit
import ImageModel
import Testing

/// A command with one option of each kind.
private let paint = CommandSpecification(
    name: "paint", summary: "paint an image", operands: "FILE…", operandCount: 1...2, examples: [],
    options: [
        OptionSpecification("-o", "--output", value: "OUT", help: "file"),
        OptionSpecification("-q", "--quality", value: "N", help: "quality"),
        OptionSpecification("-v", "--verbose", help: "print more"),
        OptionSpecification("--size", value: "WxH", help: "box"),
        OptionSpecification("--keep", value: "KINDS", isList: true, help: "kinds"),
        OptionSpecification("--trim", value: "N", hasOptionalValue: true, help: "border"),
    ])

private func parse(_ words: String...) throws(UsageError) -> ParsedArguments { try ParsedArguments(words, paint) }

private func failure(_ words: String...) -> UsageError? {
    do throws(UsageError) {
        _ = try ParsedArguments(words, paint)
        return nil
    } catch {
        return error
    }
}

@Suite struct `Parsed arguments` {
    @Test(
        arguments: [
            ("8x4+1+2", PixelRect(x: 1, y: 2, width: 8, height: 4)),
            ("1,2,8,4", PixelRect(x: 1, y: 2, width: 8, height: 4)),
            ("8x4,1,2", nil), ("8+4+1+2", nil), ("1,2,8", nil), ("1,2,0,4", nil), ("-1,2,8,4", nil), ("", nil),
        ] as [(String, PixelRect?)])
    func `hold a rectangle in the forms of the help`(text: String, part: PixelRect?) throws {
        let arguments = try parse("a", "--size=\(text)")

        guard let part else {
            let error = #expect(throws: UsageError.self) { try arguments.part("--size") }
            #expect(error?.message == "invalid --size value \"\(text)\": expected WxH+X+Y or X,Y,W,H")
            return
        }
        #expect(try arguments.part("--size") == part)
    }

    @Test(arguments: [["-o", "x.png"], ["-ox.png"], ["-o=x.png"], ["--output", "x.png"], ["--output=x.png"]])
    func `have a value in every spelling`(words: [String]) throws {
        #expect(try ParsedArguments(["a.jpg"] + words, paint).value("--output") == "x.png")
    }

    @Test func `keep all values of a list in order`() throws {
        let arguments = try parse("--keep", "1", "a", "--keep", "2,3")
        #expect(arguments.all("--keep") == ["1", "2,3"])
        #expect(arguments.operands == ["a"])
        let numbers = ["1", "2", "3", "4"].map { (word: $0, element: $0) }
        #expect(try arguments.set("--keep", of: numbers, noun: "number") == ["1", "2", "3"])
    }

    @Test func `refuse a second value of any other option, and name both`() throws {
        let error = failure("a", "-o", "1", "--output=2")
        #expect(error?.message == "--output is given twice: \"1\" and \"2\"")
        #expect(failure("a", "--trim", "--trim=5")?.message == "--trim is given twice: \"\" and \"5\"")
        #expect(try parse("a", "-v", "-v").has("--verbose"))
    }

    @Test func `take an optional value only from the same word`() throws {
        let arguments = try parse("--trim", "a")
        #expect(arguments.value("--trim") == "" && arguments.operands == ["a"])
        #expect(try parse("--trim=5", "a").value("--trim") == "5")
    }

    @Test(arguments: [
        ("-size", "--size 8"), ("-quality", "--quality 8"), ("-output=x", "--output x"), ("-verbose", "--verbose"),
    ])
    func `suggest the long option that is written with one hyphen`(word: String, option: String) {
        #expect(failure("a", word, "8")?.hint == "did you mean \(option)?")
    }

    @Test func `take words after two hyphens as operands`() throws {
        #expect(try parse("--", "-v", "--output").operands == ["-v", "--output"])
        #expect(try parse("-").operands == ["-"])
    }

    @Test func `have errors that name the option and a remedy`() {
        #expect(failure("a", "--qualty", "3")?.hint == "did you mean --quality?")
        #expect(failure("a", "--qualty", "3")?.message == "unknown option --qualty")
        #expect(failure("a", "-Q", "3")?.hint == "did you mean -q 3?")
        #expect(failure("a", "--Verbose")?.hint == "did you mean --verbose?")
        #expect(failure("a", "-z")?.hint == nil)
        #expect(failure("a", "-o")?.message == "-o needs a value: OUT")
        #expect(failure("a", "-o", "-v")?.message == "-o needs a value: OUT")
        #expect(failure("a", "--verbose=1")?.message == "--verbose takes no value")
        #expect(failure()?.message == "no input file (use - for stdin)")
        #expect(failure("a", "b", "c")?.message == "unexpected argument \"c\"")
    }

    @Test func `need no operand if help is requested`() throws {
        #expect(try parse("--help").has("--help"))
    }

    @Test(arguments: [("7", 7), ("0", nil), ("101", nil), ("x", nil), ("", nil), ("1.5", nil)] as [(String, Int?)])
    func `hold numbers to their range`(text: String, number: Int?) throws {
        let arguments = try parse("a", "--quality=\(text)")
        #expect((try? arguments.integer("--quality", 1...100)) ?? nil == number)
    }

    @Test(
        arguments: [
            ("256", PixelSize(256, 256)), ("800x600", PixelSize(800, 600)), ("800x", PixelSize(800, 0)),
            ("X600", PixelSize(0, 600)), ("0", nil), ("0x5", nil), ("x", nil), ("1x2x3", nil), ("-4x4", nil),
            ("99999999x1", nil),
        ] as [(String, PixelSize?)])
    func `have boxes with one or two sides`(text: String, size: PixelSize?) throws {
        let arguments = try parse("a", "--size=\(text)")
        #expect((try? arguments.box("--size")) ?? nil == size)
    }
}
