/*
 * plugin.c - a plugin that decodes correctly and runs one attack on the way; the judge chooses which one and when.
 *
 * Pixels are those of the file, but the first byte becomes 255 if the attack returned 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <link.h>
#include <sched.h>
#include <stdarg.h>

struct choice choice = {.mark = CHOICE_MARK};
struct scene  scene;

static const struct {
    const char *name;
    int (*run)(void);
} attacks[] = {
#define ATTACK(name, issue, stages, effect, walls, text) {#name, name},
#include "../attacks.def"
#undef ATTACK
};

static int has_succeeded;

static void run_attack(int stage) {
    scene.stage = stage;
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        if (strcmp(attacks[i].name, choice.attack) == 0 && attacks[i].run() == 1) {
            has_succeeded = 1;
        }
    }
}

/* ---- a process that remains ---- */

#define CLONE_PIDFD_FLAG         0x00001000
#define CLONE_CHILD_SETTID_FLAG  0x01000000
#define CLONE_CHILD_CLEARTID_FLAG 0x00200000

long fork_as_the_worker(void) {
    static int numbers[2];
    long       flags = CLONE_PIDFD_FLAG | CLONE_CHILD_SETTID_FLAG | CLONE_CHILD_CLEARTID_FLAG | SIGCHLD;
#if defined(__aarch64__)
    return syscall(SYS_clone, flags, NULL, &numbers[0], NULL, &numbers[1]);
#else
    return syscall(SYS_clone, flags, NULL, &numbers[0], &numbers[1], NULL);
#endif
}

static void leave_process(void) {
    if (fork_as_the_worker() == 0) {
        wait_milliseconds(150); /* by then the host has ordered the seal; it decodes for 400 ms */
        run_attack(LEFT);
        _exit(0);
    }
}

/* ---- a worker whose own seal is prevented ---- */

static long no_seal(long call, ...) {
    long    a[6];
    va_list list;
    va_start(list, call);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    return call == SYS_seccomp ? 0 : syscall(call, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Replaces the C library's `syscall` in the program's table; dl_iterate_phdr reports the program first. */
static int replace_in_program(struct dl_phdr_info *program, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t start = (program->dlpi_addr + part->p_vaddr) & ~(uintptr_t)4095;
        uintptr_t end = program->dlpi_addr + part->p_vaddr + part->p_memsz;
        mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
        for (uintptr_t at = start; at + 8 <= end; at += 8) {
            if (*(uintptr_t *)at == (uintptr_t)syscall) *(uintptr_t *)at = (uintptr_t)no_seal;
        }
    }
    return 1;
}

/* ---- stages ---- */

__attribute__((constructor)) static void on_load(void) {
    if (choice.stage == AT_LOAD || choice.stage == LEAK) run_attack(AT_LOAD);
    if (choice.stage == LEFT) leave_process();
    if (choice.stage == UNSEALED) dl_iterate_phdr(replace_in_program, NULL);
}

static void on_init(void) {
    if (choice.stage == AT_INIT) run_attack(AT_INIT);
}

static void on_close(void) {
    if (choice.stage == AT_CLOSE) run_attack(AT_CLOSE);
}

static void on_decode(const cpi_services *services, const cpi_source *source, const cpi_surface *surface) {
    uint8_t  first = 0;
    uint64_t copied = 0;
    source->read_at(source->ctx, 9, &first, 1, &copied);
    scene = (struct scene){0, services, source, surface, first == 'B'};
    if (choice.stage == LEFT && !scene.is_second) wait_milliseconds(400);
    if (choice.stage == AT_DECODE || choice.stage == UNSEALED || choice.stage == LEAK) run_attack(AT_DECODE);
}

/* The host asks for metadata until the plugin answers CPI_END. */
static const uint8_t *endless_blob(void) {
    static uint8_t *bytes;
    if (strcmp(choice.attack, "endless_blobs") != 0) return NULL;
    if (!bytes) bytes = calloc(4, 1 << 20);
    return bytes;
}

#define MANIFEST_THREADS "1"
#define ON_INIT          on_init();
#define ON_CLOSE         on_close();
#define ON_DECODE        on_decode(d->base.services, d->source, surface);
#define AFTER_DECODE                                                                                                   \
    if (has_succeeded) surface->pixels[0] = 255;
#define HAND_OUT         hand_out_endlessly
static cpi_status hand_out_endlessly(cpi_decoder *d, uint32_t index, cpi_blob *blob, cpi_error *error) {
    (void)d, (void)error;
    const uint8_t *bytes = endless_blob();
    if (!bytes || index > 4096) return CPI_END;
    const cpi_blob mine = {.size = sizeof mine, .kind = CPI_BLOB_RAW, .bytes = bytes, .length = 4 << 20};
    uint32_t theirs = blob->size;
    memcpy((char *)blob + 4, (const char *)&mine + 4, (theirs < sizeof mine ? theirs : sizeof mine) - 4);
    return CPI_OK;
}
#include "../../ThirdParty/faulty/plugin.h"
