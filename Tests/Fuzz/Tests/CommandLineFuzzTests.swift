import FuzzTargets
import TestSupport
import Testing

@testable import CoderHost
@testable import CoderHostCLI
@testable import CommandLineKit

/// Text written by users and scripts: command lines, templates, limits, administration files.
///
/// They are tested in the command itself, which no other program can link, so they have no separate run.
@Suite(.timeLimit(.minutes(40))) struct `Untrusted text` {
    private static let pieces = [
        "-", "--", "=", "-o", "--output", "--limits", "--json", "-q", "-f", "png", "a.png", "", " ", "\u{0}", "é", "{",
        "}",
        "{n:", "{stem}", "{n:04}", "{w}x{h}", ":", "999999999999999999999", "-1", "1e309", "nan", "default", "side=1",
        ",", "k", "G", "8589934592G", "8388608G", "\u{301}", "../", "/", "--plugin-dir", "--help", "yes", "@", "#",
        "enabled", "priority", "\n",
    ]

    private static let commands = [
        ConvertCommand.specification, FramesCommand.specification, InfoCommand.specification, PlayCommand.specification,
        BenchCommand.specification,
    ]

    private func word(_ dice: inout Dice) -> String {
        (0..<1 + dice.below(4)).map { _ in dice.pick(Self.pieces) }.joined()
    }

    @Test func `a command line is parsed or refused`() {
        var dice = Dice(1)
        for _ in 0..<6000 {
            let words = (0..<dice.below(7)).map { _ in dice.once(in: 2) ? dice.pick(Self.pieces) : word(&dice) }
            let command = dice.pick(Self.commands)
            do throws(UsageError) {
                let parsed = try ParsedArguments(words, command)
                #expect(parsed.operands.count <= words.count)
                _ = try? parsed.limits()
            } catch {
                #expect(!error.message.isEmpty, "\(words)")
            }
        }
    }

    @Test func `a template is filled or refused`() {
        var dice = Dice(2)
        var filledCount = 0
        for _ in 0..<6000 {
            let text = word(&dice) + word(&dice)
            guard let template = try? OutputTemplate(text) else { continue }
            let filled = template.filled(
                ["stem": "a", "n": "7", "w": "1", "h": "2", "dir": "d/", "ext": "png"], digits: 3)
            #expect(filled.utf8.count <= text.utf8.count + 16 * 8, "\(text) became \(filled)")
            filledCount += 1
        }
        #expect((100..<6000).contains(filledCount))
    }

    @Test func `limits are numbers or refused`() {
        var dice = Dice(3)
        let command = InfoCommand.specification
        var accepted = 0
        for _ in 0..<6000 {
            let text = word(&dice) + (dice.once(in: 2) ? "," + word(&dice) : "")
            guard let parsed = try? ParsedArguments(["--limits=\(text)", "x"], command),
                let limits = try? parsed.limits()
            else { continue }
            for name in ParsedArguments.limitNames { #expect(limits[keyPath: name.path] >= 0, "\(text)") }
            accepted += 1
        }
        #expect((1..<6000).contains(accepted))
    }

    @Test func `an administration file with any content is read`() {
        let place = TemporaryDirectory()
        var dice = Dice(4)
        for _ in 0..<400 {
            var bytes = Array((0..<dice.below(6)).map { _ in "\(word(&dice)) = \(word(&dice))\n" }.joined().utf8)
            if dice.once(in: 3) { BytesMutator().mutate(&bytes, &dice, other: bytes) }
            place.write(bytes, to: "org.x.conf")
            #expect(Administration.of(plugin: "org.x", in: [place.path]).file != nil)
        }
    }
}
