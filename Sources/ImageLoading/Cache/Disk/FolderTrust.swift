import CoderHost
import ImageModel

extension EntryStore {
    /// Finds out whether the folder is one that nobody but its user lays out.
    ///
    /// Whoever may write there, or put another folder in its place, says what this user gets to see. So the folder and
    /// the one that it stands in have to belong to this user or to root, and to be closed to other writers; the one above
    /// may be open to them where each may only remove what is his own. Links on the way are followed.
    ///
    /// - Returns: false where there is no folder yet.
    /// - Throws: `.inputOutput` with what is in the way.
    func examineFolder() throws(CoderError) -> Bool {
        for path in [Self.parent(of: directory), directory] {
            let facts: FileFacts
            do throws(SystemError) {
                // What is behind the slash exists in a folder only.
                facts = try system.facts(at: "\(path)/.")
            } catch {
                if error.isAbsent { return false }
                throw CoderError(
                    .inputOutput, "the folder \(path) cannot be used for a cache: \(error)", hint: error.remedy)
            }
            if let objection = objection(to: facts, path, isAbove: path != directory) { throw objection }
        }
        return true
    }

    private func objection(to facts: FileFacts, _ path: String, isAbove: Bool) -> CoderError? {
        let user = system.user()
        let what = "the folder \(path) is not used for a cache"
        guard facts.owner == user.id || facts.owner == 0 else {
            return CoderError(
                .inputOutput, "\(what): it belongs to user \(facts.owner)",
                hint: "choose another cache directory; what is in this one may be anybody's")
        }
        let isSticky = facts.permissions & 0o1000 != 0
        let mayOthersWrite = facts.permissions & 0o002 != 0
        // The group of one's own files is often a group of one.
        let mayGroupWrite = facts.permissions & 0o020 != 0 && facts.group != user.group
        guard mayOthersWrite || mayGroupWrite, !(isAbove && isSticky) else { return nil }
        return CoderError(
            .inputOutput,
            "\(what): \(mayOthersWrite ? "everybody" : "group \(facts.group)") may write to it",
            hint: "look at what is in it and take that right away (chmod go-w), or choose another cache directory")
    }
}
