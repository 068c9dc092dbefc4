import CoderHost
import ImageModel
import ImageProcessing

/// A size as users type it: a box with an optional mark, or percent.
enum RequestedSize {
    /// Returns the size that `--resize`, `--size` or `--max` requests; nil without any of them.
    ///
    /// - Parameters:
    ///   - option: the option of the size, `--resize` or `--size`.
    ///   - usual: the box without these options.
    static func parse(
        _ arguments: ParsedArguments, _ option: String, usual: PixelSize?
    ) throws(UsageError) -> DecodedSize? {
        let fit = try arguments.choice("--fit", Fit.self)
        let enlarging = try enlarging(arguments)
        if let side = try arguments.integer("--max", 1...(1 << 24)) {
            if arguments.has(option) {
                throw UsageError("\(option) and --max both set the output size", hint: "choose one")
            }
            let others = ["--fit", "--enlarge", "--no-enlarge"].first(where: arguments.has)
            if let others {
                throw UsageError("\(others) has no effect with --max", hint: "use \(option) \(side)x\(side)")
            }
            return .box(PixelSize(side, side), .inside, enlarging: false)
        }
        guard let text = arguments.value(option) else {
            return usual.map { .box($0, fit ?? .inside, enlarging: enlarging) }
        }
        guard let (size, isFixed) = parse(text, fit ?? .inside, enlarging) else {
            throw UsageError(
                "invalid \(option) value \"\(text)\": expected WxH, Wx, xH, one number for a square box, or N%",
                hint: "for example \(option) 800x600")
        }
        if isFixed, let other = ["--fit", "--enlarge", "--no-enlarge"].first(where: arguments.has) {
            throw UsageError("\(option) \(text) and \(other) both decide how the image fits", hint: "choose one")
        }
        return size
    }

    /// Returns whether small images are enlarged; nil if the fit decides.
    private static func enlarging(_ arguments: ParsedArguments) throws(UsageError) -> Bool? {
        let (enlarges, keeps) = (arguments.has("--enlarge"), arguments.has("--no-enlarge"))
        if enlarges, keeps {
            throw UsageError("--enlarge cannot be combined with --no-enlarge", hint: "remove one of the two")
        }
        return enlarges ? true : keeps ? false : nil
    }

    /// Returns a size, and whether its text also decides how the image fits: `50%`, `800x600>`, `800x600^`, `800x600!`.
    private static func parse(
        _ text: String, _ fit: Fit, _ enlarging: Bool?
    ) -> (size: DecodedSize, isFixed: Bool)? {
        if let box = PixelSize(box: text) { return (.box(box, fit, enlarging: enlarging), false) }
        let body = String(text.dropLast())
        if text.last == "%" {
            guard let percent = Double(body), percent > 0, percent <= 10_000, !body.hasPrefix("+") else { return nil }
            return (.scaled(by: percent / 100), true)
        }
        guard let box = PixelSize(box: body) else { return nil }
        switch text.last {
        case ">": return (.box(box, .inside, enlarging: false), true)
        case "^": return (.box(box, .outside, enlarging: true), true)
        case "!": return box.isEmpty ? nil : (.box(box, .fill, enlarging: true), true)
        default: return nil
        }
    }

    /// Returns the widths of `--sizes`.
    static func widths(_ arguments: ParsedArguments) throws(UsageError) -> [Int] {
        var widths: [Int] = []
        for text in arguments.all("--sizes").flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
            // The unit of srcset: 400w.
            let digits = text.last == "w" ? text.dropLast() : text
            guard let width = Int(digits), (1...(1 << 24)).contains(width) else {
                throw UsageError(
                    "invalid --sizes value \"\(text)\": expected widths in pixels",
                    hint: "for example --sizes 400,800,1600")
            }
            if !widths.contains(width) { widths.append(width) }
        }
        return widths
    }
}

/// A part of the image as users type it.
enum RequestedPart {
    /// Returns the part that `--crop` keeps, and the position of parts without one.
    ///
    /// `WxH+X+Y` or `X,Y,W,H` is a rectangle; `WxH` is a size and `W:H` a shape, both placed by `--gravity`; a word is
    /// the position that `--fit cover` keeps.
    static func parse(_ arguments: ParsedArguments) throws(UsageError) -> (DecodedPart?, CropPosition?) {
        guard let text = arguments.value("--crop") else { return (nil, nil) }
        if let position = CropPosition(rawValue: text.lowercased()) { return (nil, position) }
        if let part = PixelRect(part: text) { return (.rect(part), nil) }
        if text.contains("x"), let size = PixelSize(box: text), !size.isEmpty { return (.size(size), nil) }
        let sides = text.split(separator: ":", omittingEmptySubsequences: false).map { Double(String($0)) ?? 0 }
        if sides.count == 2, sides.allSatisfy({ $0 > 0 && $0 <= 65_535 }), sides[0] / sides[1] < 65_536 {
            return (.aspect(width: sides[0], height: sides[1]), nil)
        }
        let words = CropPosition.allCases.map(\.rawValue)
        throw UsageError(
            "invalid --crop value \"\(text)\": expected WxH+X+Y, X,Y,W,H, WxH, W:H, attention, entropy or a gravity",
            hint: OptionCheck.nearest(text, words).map { "did you mean \($0)?" } ?? "for example --crop 640x480+10+20")
    }
}
