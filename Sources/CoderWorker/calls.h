/*
 * calls.h - system call numbers that the headers of the build machine or of the target lack.
 *
 * Numbers from 424 on are equal on all architectures (Documentation/process/adding-syscalls.rst). A call that an
 * architecture lacks is -1, and the filters skip it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALLS_H
#define CALLS_H

#include <sys/syscall.h>

#define NO_CALL (-1)

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_pidfd_send_signal
#define __NR_pidfd_send_signal 424
#define __NR_io_uring_setup 425
#define __NR_io_uring_enter 426
#define __NR_io_uring_register 427
#define __NR_open_tree 428
#define __NR_move_mount 429
#define __NR_fsopen 430
#define __NR_fsconfig 431
#define __NR_fsmount 432
#define __NR_fspick 433
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_faccessat2
#define __NR_faccessat2 439
#endif
#ifndef __NR_process_madvise
#define __NR_process_madvise 440
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_futex_wake /* Linux 6.7 */
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_listmount /* Linux 6.8 */
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_open_tree_attr /* Linux 6.15 */
#define __NR_open_tree_attr 467
#endif

/* Calls of older architectures only. */
#ifndef __NR_open
#define __NR_open NO_CALL
#endif
#ifndef __NR_stat
#define __NR_stat NO_CALL
#endif
#ifndef __NR_lstat
#define __NR_lstat NO_CALL
#endif
#ifndef __NR_access
#define __NR_access NO_CALL
#endif
#ifndef __NR_readlink
#define __NR_readlink NO_CALL
#endif
#ifndef __NR_fork
#define __NR_fork NO_CALL
#endif
#ifndef __NR_vfork
#define __NR_vfork NO_CALL
#endif
#ifndef __NR_poll
#define __NR_poll NO_CALL
#endif
#ifndef __NR_time
#define __NR_time NO_CALL
#endif
#ifndef __NR_getrlimit
#define __NR_getrlimit NO_CALL
#endif
#ifndef __NR_dup2
#define __NR_dup2 NO_CALL
#endif
#ifndef __NR_alarm
#define __NR_alarm NO_CALL
#endif
#ifndef __NR_mknod
#define __NR_mknod NO_CALL
#endif
#ifndef __NR_iopl
#define __NR_iopl NO_CALL
#endif
#ifndef __NR_ioperm
#define __NR_ioperm NO_CALL
#endif
#ifndef __NR_modify_ldt
#define __NR_modify_ldt NO_CALL
#endif
#ifndef __NR_uselib
#define __NR_uselib NO_CALL
#endif
#ifndef __NR_kexec_file_load
#define __NR_kexec_file_load NO_CALL
#endif
#ifndef __NR_creat
#define __NR_creat NO_CALL
#endif
#ifndef __NR_getdents
#define __NR_getdents NO_CALL
#endif
#ifndef __NR_lookup_dcookie /* gone since Linux 6.7 */
#define __NR_lookup_dcookie NO_CALL
#endif
#ifndef __NR_newfstatat /* called fstatat on some architectures */
#define __NR_newfstatat __NR_fstatat
#endif

#endif
