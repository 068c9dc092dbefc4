#define _GNU_SOURCE
#include "process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void kit_state_read(kit_state *state) {
    memset(state, 0, sizeof *state);
    for (int number = 1; number < KIT_SIGNALS; number++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        if (sigaction(number, NULL, &action) != 0) continue;
        uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), &action.sa_handler, sizeof action.sa_handler);
        hash = mix(hash, &action.sa_flags, sizeof action.sa_flags);
        for (int other = 1; other < KIT_SIGNALS; other++) {
            uint8_t in = sigismember(&action.sa_mask, other) == 1;
            hash       = mix(hash, &in, 1);
        }
        state->handlers[number] = hash;
    }
    sigset_t mask;
    sigemptyset(&mask);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < KIT_SIGNALS; number++)
        if (sigismember(&mask, number) == 1) state->mask |= UINT64_C(1) << (number - 1);
    state->rounding = (uint64_t)fegetround();
#if defined(__x86_64__)
    /* Rounding, flush to zero, traps; not the sticky flags that any calculation may set. */
    state->rounding |= (uint64_t)(__builtin_ia32_stmxcsr() & 0xffc0u) << 32;
#endif
    mode_t previous = umask(0);
    umask(previous);
    state->file_mode_mask = previous;
}

uint64_t kit_state_handler(const kit_state *state, int number) {
    return number > 0 && number < KIT_SIGNALS ? state->handlers[number] : 0;
}

uint64_t kit_resident_bytes(void) {
    char text[256];
    int  file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return 0;
    text[count] = 0;
    char *end = text;
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int kit_thread_count(void) {
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}
