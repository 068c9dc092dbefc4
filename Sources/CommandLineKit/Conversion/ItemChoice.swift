import CoderHost
import ImageModel

/// The items of a file that a command works on: `--item N`, `--item all`, or `--page N`.
package enum ItemChoice {
    case one(Int)
    /// The nth image that is neither a thumbnail nor an auxiliary image, from 1.
    case page(Int)
    /// Every image that is neither a thumbnail nor an auxiliary image.
    case all

    /// Nil where nothing was chosen.
    init?(_ arguments: ParsedArguments, _ target: OutputTarget, command: String) throws(UsageError) {
        if arguments.has("--item") && arguments.has("--page") {
            throw UsageError("--item and --page both choose an image", hint: "choose one", command: command)
        }
        if let page = try arguments.integer("--page", 1...1_000_000) {
            self = .page(page)
        } else if arguments.value("--item") == "all" {
            guard target.tellsItems else {
                throw UsageError(
                    "--item all writes several files, and the output has one name",
                    hint: "add {item} to it, such as -o '{stem}-{item}.png'", command: command)
            }
            self = .all
        } else if let item = try arguments.integer("--item", 0...1_000_000) {
            self = .one(item)
        } else {
            return nil
        }
    }

    /// The numbers of the items in a file.
    ///
    /// - Throws: `.invalidArgument` for a page that does not exist.
    func numbers(in session: DecodeSession) throws(CoderError) -> [Int] {
        if case .one(let number) = self { return [number] }
        // A damaged item has no role: with `all` it counts as an image that fails.
        let isAll = if case .all = self { true } else { false }
        let pages = try session.items().filter { item in
            item.facts.map { [.primary, .page, .alternative].contains($0.role) } ?? isAll
        }.map(\.index)
        guard case .page(let page) = self else { return pages }
        guard page <= pages.count else {
            throw .invalidArgument("there is no page \(page)", hint: "the file has \(pages.count), counted from 1")
        }
        return [pages[page - 1]]
    }

    package static let specification = [
        OptionSpecification(
            "--item", value: "N|all",
            help: "write this image of the file, from 0, or all but thumbnails and auxiliary ones to names with {item} "
                + "(default: the primary one)"),
        OptionSpecification("--page", value: "N", help: "write the Nth page or image, from 1 (default: the first)"),
    ]
}
