package import ImageModel

extension ConvertJob {
    /// The differences between the commands that use a job.
    package struct Style {
        /// The name of the command, for error messages.
        package var command = "convert"
        /// The option of the size.
        package var sizeOption = "--resize"
        /// The default box to resize to.
        package var box: PixelSize?
        /// The default output.
        package var output: String?
        /// The metadata kept by default.
        package var kept = Set(MetadataBlob.Kind.allCases)
        /// Whether the default output format is the input's format.
        package var keepsFormat = false
        /// Whether to copy unmodified inputs byte for byte.
        package var copiesUnchanged = false
        /// The names of the inputs, if they differ from the operands.
        package var names: [String]?

        package init() {}
    }

    /// An input of the job.
    package struct Input: Sendable {
        /// The name in messages.
        package var label: String
        /// The name from which the output name is derived.
        package var name: String
        /// The position among all inputs, from 0.
        package var number: Int

        package init(_ label: String, name: String, number: Int) {
            self.label = label
            self.name = name
            self.number = number
        }
    }
}
