internal import CCoderPlugin
internal import ImageModel

/// The functions of `cpi_items_api`.
extension ExportedDecoder {
    static let itemsTable = unsafe Constant(
        cpi_items_api(
            table: cpi_table(size: UInt32(MemoryLayout<cpi_items_api>.size), rev: 1, tag: cpi_tag(CPI_EXT_ITEMS)),
            describe: { decoder, index, item, info, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    guard let found = try session.item(Int(index)) else { return CPI_END }
                    let raw = unsafe session.hold(found)
                    unsafe try copyOut(raw, to: item)
                    unsafe try copyOut(found.info.raw(), to: info)
                    return CPI_OK
                }
            },
            select: { decoder, index, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    try session.select(item: Int(index))
                    return CPI_OK
                }
            },
            count: { decoder, count, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    if unsafe isNull(count) { throw .nullArgument }
                    guard let known = try session.itemCount() else { throw .refused("the item count is unknown") }
                    unsafe count.pointee = UInt32(clamping: known)
                    return CPI_OK
                }
            }))
}
