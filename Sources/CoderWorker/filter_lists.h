/*
 * filter_lists.h - the system calls that the two filters permit or deny quietly; only for filter.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FILTER_LISTS_H
#define FILTER_LISTS_H

#include <errno.h>

#include "calls.h"

/* ---- sealed: permits only ... ---- */

static const int always[] = {
    __NR_futex, __NR_read, __NR_write, __NR_sendmsg, __NR_recvmsg, __NR_pread64, __NR_munmap, __NR_mremap, __NR_madvise,
    __NR_brk, __NR_sched_yield, __NR_clock_gettime, __NR_clock_getres, __NR_nanosleep, __NR_clock_nanosleep,
    __NR_gettimeofday, __NR_time, __NR_times, __NR_getrusage, __NR_getrandom, __NR_rt_sigaction, __NR_rt_sigprocmask,
    __NR_rt_sigreturn, __NR_rt_sigpending, __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_sigaltstack, __NR_rseq,
    __NR_set_robust_list, __NR_membarrier, __NR_exit, __NR_exit_group, __NR_getpid, __NR_gettid,
    __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_sched_get_priority_max,
    __NR_sched_get_priority_min, __NR_getcpu, __NR_getrlimit, __NR_uname, __NR_sysinfo, __NR_poll, __NR_ppoll,
    __NR_restart_syscall, __NR_close, __NR_fstat, __NR_lseek, __NR_writev, __NR_readv, __NR_preadv, __NR_mincore,
    __NR_futex_waitv, __NR_futex_wake, __NR_futex_wait, __NR_futex_requeue,
};

/* Calls that libraries try but can do without. */
static const struct {
    int call;
    int error;
} quietly[] = {
    {__NR_open, EACCES},       {__NR_openat, EACCES},     {__NR_openat2, EACCES},     {__NR_creat, EACCES},
    {__NR_stat, EACCES},       {__NR_lstat, EACCES},      {__NR_access, EACCES},      {__NR_faccessat, EACCES},
    {__NR_faccessat2, EACCES}, {__NR_readlink, EACCES},   {__NR_readlinkat, EACCES},  {__NR_statfs, EACCES},
    {__NR_fstatfs, EACCES},    {__NR_getcwd, EACCES},     {__NR_getdents, EACCES},    {__NR_getdents64, EACCES},
    {__NR_ioctl, ENOTTY},      {__NR_fcntl, EINVAL},      {__NR_fadvise64, ENOSYS},   {__NR_mbind, ENOSYS},
    {__NR_set_mempolicy, ENOSYS}, {__NR_get_mempolicy, ENOSYS}, {__NR_set_mempolicy_home_node, ENOSYS},
    {__NR_sched_setaffinity, EPERM}, {__NR_sched_setscheduler, EPERM}, {__NR_sched_setparam, EPERM},
    {__NR_setpriority, EPERM}, {__NR_mlock, EPERM},       {__NR_munlock, EPERM},      {__NR_mlockall, EPERM},
};

/* ---- loading: permits these in addition ... ---- */

/*
 * The calls that the dynamic loader and honest constructors need besides the above and open. The guardian permits them
 * until the host orders the seal. None of them changes a file, reaches another process or creates a kernel object that
 * images share.
 */
static const int loading[] = {
    __NR_stat, __NR_lstat, __NR_access, __NR_faccessat, __NR_faccessat2, __NR_readlink,
    __NR_readlinkat, __NR_getcwd, __NR_getdents64, __NR_statfs, __NR_fstatfs,
};

/* Further calls of the zygote, before and after the seal. */
static const int forking[] = {
    __NR_wait4,
    /* The loader checks for many missing files, and asking the guardian is slow. These calls open nothing. */
    __NR_newfstatat, __NR_statx, __NR_alarm,
};

/* ---- both: queries of a thread about itself ---- */

/*
 * A thread that queries itself uses the number 0. Any other number would reveal whether a process exists; it gets
 * ENOSYS, and the C library continues.
 */
static const struct {
    int call;
    int number; /* the index of the argument with the process or thread number */
} questions[] = {
    {__NR_sched_getaffinity, 0}, {__NR_sched_getscheduler, 0}, {__NR_sched_getparam, 0},
    {__NR_get_robust_list, 0},   {__NR_getpriority, 1},
};

#endif
