#define _GNU_SOURCE
#include "host_worker.h"

#include <sys/syscall.h>

struct entry {
    long number;
    const char *name;
};

#define CALL(name) {__NR_##name, #name}

/* The system calls that a plugin is likely to attempt, with the numbers of the target architecture. */
static const struct entry entries[] = {
    CALL(accept4), CALL(bind), CALL(bpf), CALL(brk), CALL(capset), CALL(chdir), CALL(chroot), CALL(clone),
    CALL(clone3), CALL(close), CALL(connect), CALL(copy_file_range), CALL(dup), CALL(dup3), CALL(epoll_create1),
    CALL(eventfd2), CALL(execve), CALL(execveat), CALL(exit), CALL(exit_group), CALL(faccessat), CALL(fallocate),
    CALL(fchmod), CALL(fchmodat), CALL(fchown), CALL(fchownat), CALL(fcntl), CALL(flock), CALL(fstat), CALL(fsync),
    CALL(ftruncate), CALL(futex), CALL(getcwd), CALL(getdents64), CALL(getpeername), CALL(getpid), CALL(getppid),
    CALL(getrandom), CALL(getrlimit), CALL(getrusage), CALL(getsockname), CALL(getsockopt), CALL(gettid),
    CALL(getuid), CALL(inotify_init1), CALL(io_setup), CALL(io_uring_setup), CALL(ioctl), CALL(keyctl), CALL(kill),
    CALL(linkat), CALL(listen), CALL(lseek), CALL(madvise), CALL(mbind), CALL(memfd_create), CALL(mincore),
    CALL(mkdirat), CALL(mknodat), CALL(mlock), CALL(mmap), CALL(mount), CALL(move_pages), CALL(mprotect),
    CALL(mremap), CALL(msgget), CALL(munmap), CALL(name_to_handle_at), CALL(nanosleep), CALL(open_by_handle_at),
    CALL(openat), CALL(openat2), CALL(perf_event_open), CALL(personality), CALL(pidfd_getfd), CALL(pidfd_open),
    CALL(pidfd_send_signal), CALL(pipe2), CALL(pivot_root), CALL(ppoll), CALL(prctl), CALL(pread64), CALL(prlimit64),
    CALL(process_vm_readv), CALL(process_vm_writev), CALL(ptrace), CALL(pwrite64), CALL(read), CALL(readlinkat),
    CALL(readv), CALL(recvfrom), CALL(recvmsg), CALL(renameat2), CALL(rt_sigaction), CALL(rt_sigprocmask),
    CALL(sched_setaffinity), CALL(sched_setscheduler), CALL(seccomp), CALL(semget), CALL(sendmsg), CALL(sendto),
    CALL(set_mempolicy), CALL(setgid), CALL(setns), CALL(setpgid), CALL(setpriority), CALL(setrlimit), CALL(setsid),
    CALL(setuid), CALL(shmget), CALL(shutdown), CALL(signalfd4), CALL(socket), CALL(socketpair), CALL(splice),
    CALL(statfs), CALL(statx), CALL(symlinkat), CALL(sysinfo), CALL(tgkill), CALL(timer_create), CALL(timerfd_create),
    CALL(tkill), CALL(truncate), CALL(umask), CALL(umount2), CALL(uname), CALL(unlinkat), CALL(unshare),
    CALL(userfaultfd), CALL(utimensat), CALL(vmsplice), CALL(wait4), CALL(waitid), CALL(write), CALL(writev),
#ifdef __NR_open
    CALL(access), CALL(alarm), CALL(arch_prctl), CALL(chmod), CALL(chown), CALL(creat), CALL(dup2), CALL(fork),
    CALL(link), CALL(lstat), CALL(mkdir), CALL(open), CALL(pipe), CALL(poll), CALL(readlink), CALL(rename),
    CALL(rmdir), CALL(select), CALL(stat), CALL(symlink), CALL(time), CALL(unlink), CALL(vfork),
#endif
#ifdef __NR_newfstatat
    CALL(newfstatat),
#endif
};

const char *host_system_call_name(int number) {
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (entries[i].number == number) {
            return entries[i].name;
        }
    }
    return NULL;
}
