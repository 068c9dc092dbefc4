/*
 * memory.c - attacks on memory: exceeding the limit, code that was not loaded, and memory shared with the host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/shm.h>

enum { MEBIBYTE = 1 << 20 };

/* ---- exceeding the limit, with at most 2 GiB in total ---- */

static void fill(int mebibytes) {
    for (int i = 0; i < mebibytes; i++) {
        char *block = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return;
        for (int at = 0; at < MEBIBYTE; at += 4096) block[at] = 1;
    }
}
int take_memory(void) {
    fill(2000);
    wait_milliseconds(150);
    return 0;
}
int raise_limit(void) {
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_DATA, &none);
    setrlimit(RLIMIT_AS, &none);
    struct rlimit most;
    if (getrlimit(RLIMIT_DATA, &most) == 0) {
        most.rlim_cur = most.rlim_max;
        syscall(SYS_prlimit64, 0, RLIMIT_DATA, &most, NULL);
    }
    return take_memory();
}
int take_memory_in_forks(void) {
    for (int i = 0; i < 4; i++) {
        long child = fork_as_the_worker();
        if (child == 0) {
            fill(500);
            wait_milliseconds(1500);
            _exit(0);
        }
    }
    wait_milliseconds(800);
    return 0;
}
/* Reading takes one page table page per 2 MiB of address space: 1 GiB of tables for 512 GiB. */
int take_page_tables(void) {
    const size_t step = 2 * MEBIBYTE, bytes = (size_t)512 << 30;
    volatile char *space = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return 0;
    madvise((void *)(uintptr_t)space, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += step) (void)space[at];
    wait_milliseconds(150);
    return 0;
}
static void *take_part(void *argument) {
    fill(500);
    wait_milliseconds(500);
    return argument;
}
int take_memory_in_threads(void) {
    pthread_t threads[4];
    int       count = 0;
    while (count < 4 && pthread_create(&threads[count], NULL, take_part, NULL) == 0) count++;
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return 0;
}
/* Files in memory do not count as the process's data. */
int take_memory_in_files(void) {
    static char block[MEBIBYTE];
    memset(block, 1, sizeof block);
    for (int file = 0; file < 10; file++) {
        int descriptor = (int)syscall(SYS_memfd_create, "store", 0);
        signal(SIGXFSZ, SIG_IGN);
        for (int i = 0; descriptor >= 0 && i < 200; i++) {
            if (write(descriptor, block, sizeof block) != (ssize_t)sizeof block) return 0;
        }
        void *all = descriptor < 0 ? MAP_FAILED
                                   : mmap(NULL, 200 * (size_t)MEBIBYTE, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
        if (all == MAP_FAILED) return 0;
    }
    wait_milliseconds(150);
    return 1;
}
int share_memory(void) {
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
int grow_down(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}
int huge_pages(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
    return mmap(NULL, 2 * MEBIBYTE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}
int lock_memory(void) {
    static char page[8192];
    return mlock(page, sizeof page) == 0 || syscall(SYS_mlock2, page, sizeof page, 1) == 0;
}
int lock_all_memory(void) { return syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE) == 0; }
int secret_memory(void) { return syscall(CALL_MEMFD_SECRET, 0) >= 0; }
/* Allocations whose size or alignment wraps around. */
int huge_alignment(void) {
    void *block = NULL;
    int   wrong = 0;
    for (int bit = 12; bit < 64; bit++) {
        if (posix_memalign(&block, (size_t)1 << bit, 1) == 0) free(block);
        if (posix_memalign(&block, 4096, ((size_t)1 << bit) - 1) == 0) free(block);
        if (scene.services) {
            void *room = scene.services->allocate(scene.services->ctx, UINT64_MAX >> (63 - bit));
            if (room && bit > 40) wrong = 1;
            if (room) scene.services->release(scene.services->ctx, room);
        }
    }
    return wrong;
}
static int (*volatile deeper)(void);
int endless_stack(void) {
    volatile char room[4096];
    deeper = endless_stack;
    room[0] = (char)deeper();
    return room[0];
}
int endless_blobs(void) { return 0; } /* plugin.c delivers them */

/* ---- code that was not loaded ---- */

static int run_code(void *page) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    if (page == MAP_FAILED) return 0;
    memcpy(page, code, sizeof code);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) return 0;
    union {
        void *object;
        int (*function)(void);
    } entry = {page};
    return entry.function() == 42;
#else
    return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
#endif
}
int make_code(void) { return run_code(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); }
int map_code(void) {
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
int map_code_of_file(void) {
    int descriptor = (int)syscall(SYS_memfd_create, "code", 0);
    return descriptor >= 0 && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0) != MAP_FAILED;
}
int protect_by_key(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1) == 0;
}
int read_means_execute(void) {
    syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (syscall(SYS_personality, 0xffffffff) & 0x0400000) != 0 && page != MAP_FAILED;
}
int shadow_stack(void) { return syscall(CALL_MAP_SHADOW_STACK, 0, 4096, 0) > 0; }

/* ---- the pixels, which the host maps too ---- */

/* Calls `act` for each descriptor of the host's memory. */
static int on_surfaces(int (*act)(int)) {
    int result = 0;
    for (int i = 3; i < 64; i++) {
        struct stat status;
        if (fstat(i, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0) result |= act(i);
    }
    return result;
}
static int cut(int descriptor) { return ftruncate(descriptor, 0) == 0; }
static int punch(int descriptor) { return syscall(SYS_fallocate, descriptor, 3L, 0L, 4096L) * 0; }
static int seal(int descriptor) { return fcntl(descriptor, 1033 /* F_ADD_SEALS */, 1 /* F_SEAL_SEAL */) == 0; }
int shrink_surface(void) { return on_surfaces(cut); }
int punch_surface(void) { return on_surfaces(punch); }
int seal_surface(void) { return on_surfaces(seal); }
int remove_surface_pages(void) {
    uintptr_t page = (uintptr_t)scene.surface->pixels & ~(uintptr_t)4095;
    return madvise((void *)page, 4096, MADV_REMOVE) * 0; /* it may change its pixels */
}
int remove_input_pages(void) {
    const uint8_t *bytes = scene.source->bytes;
    return bytes && madvise((void *)((uintptr_t)bytes & ~(uintptr_t)4095), 4096, MADV_REMOVE) == 0;
}
int poison_surface(void) {
    uintptr_t page = (uintptr_t)scene.surface->pixels & ~(uintptr_t)4095;
    return madvise((void *)page, 4096, 101 /* MADV_SOFT_OFFLINE */) == 0;
}

static uint8_t *pixels_of_answer;
static uint64_t bytes_of_answer;
static void *keep_writing(void *argument) {
    for (int turn = 0; turn < 20000; turn++) {
        for (uint64_t i = 0; i < bytes_of_answer; i++) pixels_of_answer[i] = (uint8_t)(turn + i);
    }
    return argument;
}
int change_after_answer(void) {
    pthread_t thread;
    pixels_of_answer = scene.surface->pixels;
    bytes_of_answer = scene.surface->byte_count;
    pthread_create(&thread, NULL, keep_writing, NULL);
    return 0;
}
/* When the thread ends, the kernel writes to the addresses in these two: memory of the host. */
static void *end_in_surface(void *argument) {
    static struct robust_list_head head;
    uint32_t *word = (uint32_t *)(void *)scene.surface->pixels;
    word[0] = (uint32_t)syscall(SYS_gettid);
    head.list.next = (struct robust_list *)&head.list;
    head.futex_offset = 0;
    head.list_op_pending = (struct robust_list *)(void *)word;
    syscall(SYS_set_robust_list, &head, sizeof head);
    syscall(SYS_rseq, scene.surface->pixels, 32, 0, 0);
    return argument;
}
int robust_list_in_surface(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_in_surface, NULL) == 0) pthread_join(thread, NULL);
    return 0;
}
int rseq_in_surface(void) {
    static uint32_t area[8] __attribute__((aligned(32)));
    syscall(SYS_rseq, area, sizeof area, 0, 0);
    syscall(SYS_rseq, (uintptr_t)scene.surface->pixels & ~(uintptr_t)31, 32, 0, 0x53053053);
    return 0;
}
/* A futex in the host's memory can be waited on and woken, but blocks no other process. */
int futex_in_surface(void) {
    uint32_t *word = (uint32_t *)(void *)((uintptr_t)scene.surface->pixels & ~(uintptr_t)3);
    syscall(SYS_futex, word, FUTEX_WAKE, 1000, NULL, NULL, 0);
    syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    return 0;
}

/* ---- memory of the previous image ---- */

/* A fresh worker finds neither a counter nor pixels of another image. */
int find_counter(void) {
    static int count;
    return scene.stage == AT_DECODE && count++ > 0;
}
int find_pixels(void) {
    const uint8_t *pixels = scene.surface->pixels;
    for (uint64_t i = 0; i < scene.surface->byte_count; i++) {
        if (pixels[i] != 0) return 1;
    }
    return 0;
}
