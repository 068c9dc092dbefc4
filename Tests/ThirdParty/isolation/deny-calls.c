/*
 * deny-calls.c - runs a program with some system calls denied, as an old kernel or a strict container does.
 *
 *     deny-calls WORD[=ERRNO][,WORD[=ERRNO]...] -- COMMAND [ARGUMENT...]
 *
 *     seccomp      no further filters          (EPERM)
 *     listener     no filter that asks         (EBUSY, as if another filter asked already)
 *     landlock     no Landlock                 (ENOSYS)
 *     namespaces   no private namespaces       (EPERM)
 *     limits       no resource limits          (EPERM)
 *     pidfd        no descriptors of processes (ENOSYS; a fork with one is not denied, but has none before Linux 5.2)
 *     close-range  no closing of many at once  (ENOSYS)
 *     anonymous    no anonymous files          (ENOSYS)
 *
 * ERRNO is EPERM, EACCES, EBUSY, EINVAL, ENOSYS or EOPNOTSUPP. The denials apply to all processes of the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_close_range
#define __NR_close_range 436
#endif

#define ANY_ARGUMENT (-1)
#define ASKING       (-2) /* the second argument has the flag for a filter that asks */

static const struct {
    const char *word;
    int         usual;
    int         call;
    int         first; /* the value of the first argument for which it is denied */
} denials[] = {
    {"seccomp", EPERM, __NR_seccomp, ANY_ARGUMENT},
    {"seccomp", EPERM, __NR_prctl, PR_SET_SECCOMP},
    {"listener", EBUSY, __NR_seccomp, ASKING},
    {"landlock", ENOSYS, __NR_landlock_create_ruleset, ANY_ARGUMENT},
    {"landlock", ENOSYS, __NR_landlock_add_rule, ANY_ARGUMENT},
    {"landlock", ENOSYS, __NR_landlock_restrict_self, ANY_ARGUMENT},
    {"namespaces", EPERM, __NR_unshare, ANY_ARGUMENT},
    {"namespaces", EPERM, __NR_setns, ANY_ARGUMENT},
    {"limits", EPERM, __NR_setrlimit, ANY_ARGUMENT},
    {"limits", EPERM, __NR_prlimit64, ANY_ARGUMENT},
    {"pidfd", ENOSYS, __NR_pidfd_open, ANY_ARGUMENT},
    {"pidfd", ENOSYS, __NR_pidfd_send_signal, ANY_ARGUMENT},
    {"close-range", ENOSYS, __NR_close_range, ANY_ARGUMENT},
    {"anonymous", ENOSYS, __NR_memfd_create, ANY_ARGUMENT},
};
#define DENIAL_COUNT (sizeof denials / sizeof denials[0])

static struct sock_filter program[8 * DENIAL_COUNT + 2];
static unsigned short     length;

static void put(uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false) {
    program[length++] = (struct sock_filter){code, if_true, if_false, k};
}

static void deny(int call, int first, int error) {
    put(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, first == ANY_ARGUMENT ? 1 : 3);
    if (first == ASKING) {
        put(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8, 0, 0);
        put(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
    } else if (first != ANY_ARGUMENT) {
        put(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
        put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first, 0, 1);
    }
    put(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

static int error_named(const char *name) {
    static const struct {
        const char *name;
        int         error;
    } errors[] = {{"EPERM", EPERM}, {"EACCES", EACCES}, {"EBUSY", EBUSY}, {"EINVAL", EINVAL},
                  {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strcmp(name, errors[i].name) == 0) return errors[i].error;
    }
    fprintf(stderr, "deny-calls: this machine has no %s\n", name);
    exit(64);
}

static void deny_word(char *word) {
    char *name = strchr(word, '=');
    if (name) *name++ = '\0';
    int found = 0;
    for (size_t i = 0; i < DENIAL_COUNT; i++) {
        if (strcmp(word, denials[i].word) != 0) continue;
        found = 1;
        deny(denials[i].call, denials[i].first, name ? error_named(name) : denials[i].usual);
    }
    if (!found) {
        fprintf(stderr, "deny-calls: unknown word %s\n", word);
        exit(64);
    }
}

int main(int count, char **arguments) {
    if (count < 4 || strcmp(arguments[2], "--") != 0) {
        fprintf(stderr, "usage: deny-calls WORD[=ERRNO],... -- COMMAND [ARGUMENT...]\n");
        return 64;
    }
    for (char *word = strtok(arguments[1], ","); word; word = strtok(NULL, ",")) {
        deny_word(word);
        if ((size_t)length + 16 > sizeof program / sizeof program[0]) return 64;
    }
    put(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
        perror("deny-calls: the filter cannot be installed");
        return 69;
    }
    execvp(arguments[3], arguments + 3);
    perror(arguments[3]);
    return 127;
}
