import CCoderPlugin
@testable import PluginCatalogue
import Testing

/// The catalogue judges plugin files without importing the contract, so it has copies of a few values.
@Test func `The catalogue's copies of contract values equal the header's`() {
    #expect(ContractConstants.major == CPI_ABI_MAJOR)
    #expect(ContractConstants.minor == CPI_ABI_MINOR)
    #expect(ContractConstants.entrySymbol == CPI_ENTRY_SYMBOL)
    #expect(ContractConstants.noteOwner == Array(CPI_NOTE_OWNER.utf8) + [0])
    #expect(ContractConstants.noteType == CPI_NOTE_TYPE)
    #expect(ContractConstants.manifestLimit == CPI_MANIFEST_LIMIT)
}
