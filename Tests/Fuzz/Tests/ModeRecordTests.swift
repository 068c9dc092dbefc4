import CoderHost
import ImageModel
import Testing

@testable import FuzzTargets

/// Tests the record that the comparison of modes uses.
@Suite(.timeLimit(.minutes(40))) struct `The record of a host's answers` {
    private static let manager = CoderHost(
        configuration: HostConfiguration(directories: [], administrationDirectories: [], followsChanges: false)
    ).manager
    private static let image = Array("P5\n2 2\n255\n".utf8) + [1, 2, 3, 4]

    private func record(_ bytes: [UInt8], _ steps: Set<ModeRecord.Step> = [.session]) -> ModeRecord {
        ModeRecord(Self.manager, bytes, coder: nil, steps)
    }

    @Test func `equal results have no difference`() {
        let steps = Set(ModeRecord.Step.allCases)

        #expect(record(Self.image, steps).difference(from: record(Self.image, steps)) == nil)
        #expect(record(Self.image).hasPixels)
    }

    @Test(
        arguments: [
            (Self.image.dropLast() + [9], "pixels of frame 0"),
            (Array("P5\n1 4\n255\n".utf8) + [1, 2, 3, 4], "information"),
            (Self.image.dropLast(), "pixels of frame 0"), (Array("no image".utf8), "coder"), ([], "coder"),
        ] as [([UInt8], String)])
    func `a different result is named by its label`(bytes: [UInt8], label: String) {
        let difference = record(Self.image).difference(from: record(bytes))

        #expect(difference?.label == label)
        #expect(difference?.own != difference?.other)
        #expect(record(bytes).difference(from: record(Self.image)) != nil)
    }

    @Test(arguments: [ModeRecord.Step.growing, .reduced, .rawFrames, .encoded])
    func `every way to decode detects a changed pixel`(step: ModeRecord.Step) {
        let shown = (0..<20).contains { number in
            let pixels = (0..<4).map { UInt8($0 * 50 + number) }
            let (first, second) = (
                Array(Self.image.dropLast(4)) + pixels, Array(Self.image.dropLast(4)) + pixels.reversed()
            )
            return record(first, [step]).difference(from: record(second, [step])) != nil
        }

        #expect(shown)
    }
}
