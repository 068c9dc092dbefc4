enum SurfaceChecks {
    static let all = [guards]

    private static let needs = ["lifecycle.decode"]

    static let guards = Check(
        "surface.guards", "no byte is written between, before or behind the rows", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            for padding in [16, 64] {
                var setup = DecodeSetup()
                setup.layout = SurfaceLayout(padding: padding, background: 0x3C)
                if let stray = try workshop.decode(coder, bytes, setup).stray {
                    throw .fault(
                        "\(coder.id) wrote to \(stray), with rows \(padding) bytes apart", .row,
                        try: "write width * bytes per pixel bytes of each row and no more")
                }
            }
        }
    }
}
