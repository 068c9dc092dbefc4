import Glibc
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Where the groups are made that bound all processes of a plugin together.
@Suite struct `Control groups` {
    @Test(
        arguments: [
            // As systemd mounts it.
            (
                "0::/user.slice/app.scope", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw",
                "/sys/fs/cgroup/user.slice/app.scope"
            ),
            // Beside version 1.
            (
                "8:pids:/\n0::/", "40 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                "/sys/fs/cgroup/unified"
            ),
            // A container that sees a part of the tree.
            (
                "0::/docker/4f/child", "30 24 0:26 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup rw",
                "/sys/fs/cgroup/child"
            ),
            ("0::/docker/4f", "30 24 0:26 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup rw", "/sys/fs/cgroup"),
            // Something else is mounted, another part, or version 1 only.
            ("0::/a", "30 24 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,pids", nil),
            ("0::/ab", "30 24 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", nil),
            ("8:pids:/", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", nil),
            ("0::/a", "30 24 0:26 / /sys/fs/cgroup", nil),
        ] as [(String, String, String?)])
    func `are made where the process is`(membership: String, mounts: String, path: String?) {
        #expect(ControlGroups.ownPath(membership: membership, mounts: mounts) == path)
    }

    @Test func `need a group that was left to this process`() throws {
        let folder = TemporaryDirectory()
        let own = ControlGroupFolder(path: folder.path)
        #expect(
            ControlGroups.choose(own, process: getpid())
                == .none("the group \(folder.path) was not left to this process"))
    }

    @Test func `need one that is there`() {
        let groups = ControlGroups(named: "/nowhere")
        let missing = WorkerGroup.Unavailable(
            reason: "CODERHOST_CGROUP: memory and pids cannot be limited in /nowhere: No such file or directory")
        #expect(throws: missing) { try groups.make(processes: 8).get() }
    }

    @Test func `need a group without other processes`() throws {
        let folder = TemporaryDirectory()
        _ = folder.write(Array("1\n\(getpid())\n".utf8), to: "cgroup.procs")
        let own = ControlGroupFolder(path: folder.path)
        #expect(
            ControlGroups.choose(own, process: getpid()) { $0 == own }
                == .none("other processes run in the group \(folder.path), too"))
    }
}
