enum FramesChecks {
    static let first: [Check] = []
}
