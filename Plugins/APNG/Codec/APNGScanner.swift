internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// The position of a frame in the file.
struct APNGFrame: Equatable {
    /// Its fcTL; nil for a default image that replaces an unusable animation.
    var control: Int?
    /// Its first IDAT or fdAT.
    var data: Int
    /// Whether the frame's pixels are the default image.
    var isDefaultImage: Bool
}

/// Walks the chunks of an animation without decoding pixels.
///
/// Records a frame when the next frame or the end chunk begins: until then more of its data may follow. A suspended
/// walk continues where it stopped.
struct APNGScanner {
    private let source: ByteSource
    private let canvas: PixelSize
    private let maxFrames: Int
    private var position = PNGCursor.signature.count
    private var nextSequenceNumber: UInt32 = 0
    /// A control chunk whose data has not been reached yet.
    private var pendingControl: Int?
    private(set) var frames: [APNGFrame] = []
    /// A frame whose data may be incomplete.
    private(set) var openFrame: APNGFrame?
    private(set) var isFinished = false

    init(_ source: ByteSource, canvas: PixelSize, maxFrames: Int) {
        self.source = source
        self.canvas = canvas
        self.maxFrames = maxFrames
    }

    /// Walks to the end of the next frame; false behind the last.
    ///
    /// - Throws: `.needsInput`, `.truncated`; `.corrupt` if the order or the numbers of chunks are wrong.
    mutating func advance() throws(CoderError) -> Bool {
        while !isFinished {
            let chunk = try PNGChunk(at: position, in: source)
            if let frame = openFrame, chunk.kind == .fcTL || chunk.kind == .imageEnd {
                if maxFrames > 0, frames.count >= maxFrames {
                    throw .limit("frames", allowed: maxFrames, requested: frames.count + 1)
                }
                frames.append(frame)
                openFrame = nil
                return true
            }
            try note(chunk)
            try ByteReader(source, at: position).require(chunk.range.count)
            position = chunk.range.upperBound
        }
        return false
    }

    /// Records the frame whose data is cut off, and ends the walk.
    mutating func keepOpenFrame() {
        if let openFrame { frames.append(openFrame) }
        openFrame = nil
        isFinished = true
    }

    // MARK: Single chunks

    private mutating func note(_ chunk: PNGChunk) throws(CoderError) {
        switch chunk.kind {
        case .fcTL:
            if pendingControl != nil { throw .corrupt("a frame has no data", at: chunk.offset) }
            try ByteReader(source, at: chunk.offset).require(chunk.range.count)
            let control = try APNGFrameControl(chunk, in: source)
            try check(control.sequenceNumber, at: chunk.offset)
            guard !control.rect.isEmpty, PixelRect(canvas).contains(control.rect) else {
                throw .corrupt("a frame is empty or reaches outside the canvas", at: chunk.offset)
            }
            nextSequenceNumber &+= 1
            pendingControl = chunk.offset
        case .imageData:
            // Without a control chunk before it, the default image is not part of the animation.
            guard openFrame == nil, let offset = pendingControl else { break }
            let control = try control(at: offset)
            if control.rect != PixelRect(canvas) {
                throw .corrupt("the default image is a frame that does not fill the canvas", at: offset)
            }
            open(APNGFrame(control: offset, data: chunk.offset, isDefaultImage: true))
        case .fdAT:
            if chunk.length < 4 { throw .corrupt("the data chunk of a frame has no sequence number", at: chunk.offset) }
            var fields = ByteReader(source, at: chunk.data.lowerBound)
            try check(try fields.u32BE(), at: chunk.offset)
            if openFrame == nil, let offset = pendingControl {
                open(APNGFrame(control: offset, data: chunk.offset, isDefaultImage: false))
            }
            guard let openFrame, !openFrame.isDefaultImage else {
                throw .corrupt("the data of a frame comes before its control chunk", at: chunk.offset)
            }
            // An incomplete chunk is read again later; its number counts once.
            try ByteReader(source, at: chunk.offset).require(chunk.range.count)
            nextSequenceNumber &+= 1
        case .imageEnd:
            if pendingControl != nil { throw .corrupt("the last frame has no data", at: chunk.offset) }
            isFinished = true
        default: break
        }
    }

    private mutating func open(_ frame: APNGFrame) {
        openFrame = frame
        pendingControl = nil
    }

    private func check(_ number: UInt32, at offset: Int) throws(CoderError) {
        if number != nextSequenceNumber {
            throw .corrupt("found chunk number \(number) instead of number \(nextSequenceNumber)", at: offset)
        }
    }

    /// Reads a control chunk that an earlier walk has checked.
    func control(at offset: Int) throws(CoderError) -> APNGFrameControl {
        try APNGFrameControl(try PNGChunk(at: offset, in: source), in: source)
    }
}
