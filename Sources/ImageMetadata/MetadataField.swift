/// A text of the metadata that can be set without re-encoding the image.
public enum MetadataField: String, Sendable, Hashable, CaseIterable {
    /// The title.
    case title
    /// The description.
    case description
    /// The name of the creator.
    case artist
    /// The copyright notice.
    case copyright

    /// The tag of the field in IFD0; nil if Exif has none.
    package var exifTag: Int? {
        switch self {
        case .title: nil
        case .description: 0x010E
        case .artist: 0x013B
        case .copyright: 0x8298
        }
    }

    /// The dataset of the field in record 2 of IPTC metadata.
    var dataset: Int {
        switch self {
        case .title: 5
        case .description: 120
        case .artist: 80
        case .copyright: 116
        }
    }

    /// The largest number of bytes of the dataset (IIM 4.2, section 6).
    var maxIPTCBytes: Int {
        switch self {
        case .title: 64
        case .description: 2000
        case .artist: 32
        case .copyright: 128
        }
    }

    /// Whether IPTC metadata states the field.
    package func isStored(inIPTC bytes: [UInt8]) -> Bool {
        IPTCReader.datasets(IPTCReader.record(in: bytes)).contains { $0.record == 2 && $0.number == dataset }
    }
}
