internal import Palettes

extension FrameIndexer {
    /// Adds a screen that is fixed to the canvas, so that static parts do not change.
    static func ordered(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, skip: UInt8, strength: Int32
    ) {
        let screen = OrderedScreen(strength: strength)
        for y in rect.rows {
            for x in rect.left...rect.right {
                let place = canvas.place(x, y)
                let color = canvas.source[place]
                if color == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                canvas.indices[place] = nearest.index(nearestTo: screen.wanted(color, x: x, y: y))
            }
        }
    }

    /// Passes the error on to neighbors that also change; unchanged pixels neither receive nor pass on errors.
    static func diffusion(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, skip: UInt8
    ) {
        var diffusion = ErrorDiffusion(width: rect.width)
        for y in rect.rows {
            // Every second row of the canvas runs backwards; otherwise all errors would drift to one side.
            let isForward = y % 2 == 0
            for position in 0..<rect.width {
                let x = isForward ? position : rect.width - 1 - position
                let place = canvas.place(rect.left + x, y)
                let source = canvas.source[place]
                if source == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                let wanted = diffusion.wanted(source, at: x)
                let index = nearest.index(nearestTo: ColorVector.color(wanted))
                canvas.indices[place] = index
                let error = wanted &- ColorVector.vector(nearest.colors[Int(index)])
                diffusion.pass(error, at: x, step: isForward ? 1 : -1)
            }
            diffusion.endRow()
        }
    }
}
