/// A 3 × 3 matrix, stored row by row.
struct Matrix3: Sendable, Hashable {
    var rows: [Double]

    static let identity = Matrix3(rows: [1, 0, 0, 0, 1, 0, 0, 0, 1])

    static func diagonal(_ values: [Double]) -> Matrix3 {
        Matrix3(rows: [values[0], 0, 0, 0, values[1], 0, 0, 0, values[2]])
    }

    static func * (left: Matrix3, right: Matrix3) -> Matrix3 {
        var product = [Double](repeating: 0, count: 9)
        for y in 0..<3 {
            for x in 0..<3 {
                for k in 0..<3 { product[3 * y + x] += left.rows[3 * y + k] * right.rows[3 * k + x] }
            }
        }
        return Matrix3(rows: product)
    }

    static func * (left: Matrix3, right: [Double]) -> [Double] {
        (0..<3).map { y in (0..<3).reduce(0) { $0 + left.rows[3 * y + $1] * right[$1] } }
    }

    /// The inverse; nil if the matrix is singular or nearly so.
    var inverse: Matrix3? {
        func minor(_ y: Int, _ x: Int) -> Double {
            let (y1, y2, x1, x2) = ((y + 1) % 3, (y + 2) % 3, (x + 1) % 3, (x + 2) % 3)
            return rows[3 * y1 + x1] * rows[3 * y2 + x2] - rows[3 * y1 + x2] * rows[3 * y2 + x1]
        }
        let determinant = (0..<3).reduce(0) { $0 + rows[$1] * minor(0, $1) }
        guard determinant.isFinite, abs(determinant) > 1e-9 else { return nil }
        var inverse = [Double](repeating: 0, count: 9)
        for y in 0..<3 { for x in 0..<3 { inverse[3 * x + y] = minor(y, x) / determinant } }
        return Matrix3(rows: inverse)
    }

    var isFinite: Bool { rows.allSatisfy(\.isFinite) }
}
