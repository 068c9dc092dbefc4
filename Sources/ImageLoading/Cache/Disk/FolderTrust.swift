import CoderHost
import ImageModel

extension EntryStore {
    /// Checks that only this user and root control the contents of the folder.
    ///
    /// A user who can write to the folder, or replace it, controls the images that this user sees. So the folder and
    /// its parent must belong to this user or to root, and other users must not be able to write to them. The parent
    /// may be writable if it is sticky, like `/tmp`. Links are followed.
    ///
    /// - Returns: false if the folder does not exist.
    /// - Throws: `.inputOutput` with the reason.
    func examineFolder() throws(CoderError) -> Bool {
        for path in [Self.parent(of: directory), directory] {
            let facts: FileFacts
            do throws(SystemError) {
                // The trailing "/." fails for anything but a folder.
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
                hint: "choose another cache directory; another user controls the files in this one")
        }
        let isSticky = facts.permissions & 0o1000 != 0
        let mayOthersWrite = facts.permissions & 0o002 != 0
        // Most users have a private group.
        let mayGroupWrite = facts.permissions & 0o020 != 0 && facts.group != user.group
        guard mayOthersWrite || mayGroupWrite, !(isAbove && isSticky) else { return nil }
        return CoderError(
            .inputOutput,
            "\(what): \(mayOthersWrite ? "every user" : "group \(facts.group)") may write to it",
            hint: "check its contents and run chmod go-w, or choose another cache directory")
    }
}
