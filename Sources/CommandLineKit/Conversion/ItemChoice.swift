import CoderHost
import ImageModel

/// The selected items of a file: `--item N`, `--item all`, or `--page N`.
package enum ItemChoice {
    case one(Int)
    /// The nth image that is neither a thumbnail nor an auxiliary image, from 1.
    case page(Int)
    /// Every image that is neither a thumbnail nor an auxiliary image.
    case all

    /// Parses the options; nil if none is given.
    ///
    /// - Parameter combines: whether one output can hold all images.
    init?(
        _ arguments: ParsedArguments, _ target: OutputTarget, combines: Bool, command: String
    ) throws(UsageError) {
        if arguments.has("--item") && arguments.has("--page") {
            throw UsageError("--item and --page both select an image", hint: "choose one", command: command)
        }
        if let page = try arguments.integer("--page", 1...1_000_000) {
            self = .page(page)
        } else if arguments.value("--item") == "all" {
            guard target.namesItems || combines else {
                throw UsageError(
                    "--item all writes several files: -o must contain {item}",
                    hint: "for example -o '{stem}-{item}.png'", command: command)
            }
            if !target.namesItems, arguments.has("--sizes") || arguments.has("--target-size") {
                throw UsageError(
                    "--item all writes all images to one file: --sizes and --target-size apply to single images",
                    hint: "for example -o '{stem}-{item}.png'", command: command)
            }
            self = .all
        } else if let item = try arguments.integer("--item", 0...1_000_000) {
            self = .one(item)
        } else {
            return nil
        }
    }

    /// Returns the numbers of the selected items of a file.
    ///
    /// - Throws: `.invalidArgument` for a page that does not exist.
    func numbers(in session: DecodeSession) throws(CoderError) -> [Int] {
        if case .one(let number) = self { return [number] }
        // A damaged item has no role; with `all`, it counts as a failed image.
        let isAll = if case .all = self { true } else { false }
        let pages = try session.items().filter { item in
            item.facts.map { [.primary, .page, .alternative].contains($0.role) } ?? isAll
        }.map(\.index)
        guard case .page(let page) = self else { return pages }
        guard page <= pages.count else {
            throw .invalidArgument("page \(page) does not exist", hint: "pages: 1 to \(pages.count)")
        }
        return [pages[page - 1]]
    }

    /// The options, for the specification of a command.
    package static let specification = [
        OptionSpecification(
            "--item", value: "N|all",
            help: "select image N, from 0, or all: -o with {item}, or one file with pages (default: primary)"),
        OptionSpecification("--page", value: "N", help: "select page or image N, from 1 (default: 1)"),
    ]
}
