/// The constants of the C contract that the host checks in a plugin file.
///
/// This module does not import the contract's header with its call tables, so the build proves that listing never runs
/// plugin code. A test compares these values with `cpi/version.h` and `cpi/manifest.h`.
package enum ContractConstants {
    /// `CPI_ABI_MAJOR`
    package static let major = 1
    /// `CPI_ABI_MINOR`
    package static let minor = 0
    /// `CPI_ENTRY_SYMBOL`
    static let entrySymbol = "cpi_entry_1"
    /// `CPI_NOTE_OWNER`, with its NUL
    static let noteOwner = Array("CoderHost\0".utf8)
    /// `CPI_NOTE_TYPE`
    static let noteType: UInt32 = 0x4350_4931
    /// `CPI_MANIFEST_LIMIT`, in bytes
    static let manifestLimit = 64 << 10
}
