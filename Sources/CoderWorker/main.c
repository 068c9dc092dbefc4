/*
 * coderhost-worker - the process in which the host runs untrusted plugins, or plugins with untrusted input.
 *
 * coderhost starts it with a socket on descriptor 3; isolation_wire.h describes the protocol.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "confinement.h"
#include "descriptors.h"
#include "guardian.h"
#include "violation.h"
#include "worker_exit.h"
#include "zygote.h"

/* Enters the control group of the host, if any; the host checks whether this succeeded. */
static void enter_group(void) {
    struct statfs kind;
    if (fstatfs(ISO_GROUP_DESCRIPTOR, &kind) == 0 && kind.f_type == CGROUP2_SUPER_MAGIC) {
        ssize_t count = write(ISO_GROUP_DESCRIPTOR, "0", 1);
        (void)count;
    }
}

int main(void) {
    static const char usage[] = "coderhost-worker is started by coderhost and does nothing by itself.\n";
    if (!is_packet_socket(ISO_CONTROL_DESCRIPTOR)) {
        return write(STDERR_FILENO, usage, sizeof usage - 1) < 0 ? EXIT_USAGE : EXIT_USAGE;
    }
    enter_group();
    close_from(is_packet_socket(ISO_GUARDIAN_DESCRIPTOR) ? ISO_GUARDIAN_DESCRIPTOR + 1 : ISO_CONTROL_DESCRIPTOR + 1);
    /* Ctrl-C in a terminal must reach only the host, which then ends this process. */
    setsid();
    violation_end_as_usual();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    confine_privileges();
    confine_namespaces();
    guardian_fork();
    zygote_run();
}
