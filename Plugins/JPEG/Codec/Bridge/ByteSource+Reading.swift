import CoderPluginKit
import ImageModel

extension ByteSource {
    /// Copies bytes from a source that the host reads piece by piece.
    ///
    /// - Throws: `.inputOutput` if the host cannot read them, `.truncated` if the file has become shorter.
    func read(_ range: Range<Int>) throws(CoderError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var failure: CoderError?
        let count = unsafe bytes.withUnsafeMutableBufferPointer { target in
            do throws(CoderError) {
                return unsafe try read(at: range.lowerBound, into: target)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        guard count == range.count else { throw .truncated("the file has become shorter") }
        return bytes
    }
}
