/// A table of text with aligned columns; the last column has no padding.
package struct TextTable {
    private var rows: [[String]] = []

    package init(_ headings: String...) { rows.append(headings) }

    /// Appends a row.
    package mutating func add(_ cells: String...) { rows.append(cells) }

    /// The rows as lines, headings first.
    package var lines: [String] {
        let columns = rows[0].count
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column < columns - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            // Removes the padding before an empty last cell.
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
