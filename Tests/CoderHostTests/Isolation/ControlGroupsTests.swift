@testable import CoderHost
import Glibc
import ImageProcessing
@testable import PluginRuntime
import TestSupport
import Testing

/// The location of the groups that limit all processes of a plugin together.
@Suite struct `Control groups` {
    @Test(
        arguments: [
            // As mounted by systemd.
            (
                "0::/user.slice/app.scope", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw",
                "/sys/fs/cgroup/user.slice/app.scope"
            ),
            // In addition to version 1.
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
            // Another file system, another part, or only version 1 is mounted.
            ("0::/a", "30 24 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,pids", nil),
            ("0::/ab", "30 24 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", nil),
            ("8:pids:/", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", nil),
            ("0::/a", "30 24 0:26 / /sys/fs/cgroup", nil),
        ] as [(String, String, String?)])
    func `are created in the group of the process`(membership: String, mounts: String, path: String?) {
        #expect(ControlGroups.ownPath(membership: membership, mounts: mounts) == path)
    }

    @Test func `need a delegated group`() throws {
        let folder = TemporaryDirectory()
        let own = ControlGroupFolder(path: folder.path)
        #expect(
            ControlGroups.choose(own, process: getpid())
                == .none("the group \(folder.path) is not delegated to this process"))
    }

    @Test func `need an existing group`() {
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
                == .none("other processes run in the group \(folder.path)"))
    }
}
