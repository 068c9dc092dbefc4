package import ImageModel

/// A transformer that needs only a few rows of the image at a time.
package protocol RowTransformer: ImageTransformer {
    /// Returns the transformed rows; nil if these parameters need the whole image.
    func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)?
}

extension Pipeline: RowTransformer {
    /// Returns the transformed rows; nil if one of the transformers needs the whole image.
    package func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)? {
        var rows = source
        for transformer in transformers {
            guard let next = try (transformer as? any RowTransformer)?.rows(of: rows) else { return nil }
            rows = next
        }
        return rows
    }
}
