/*
 * conformance_system.h - what the conformance kit needs of the kernel and Swift cannot reach: starting a child that can
 * do no harm, a board in shared memory that says what it was doing, and the state of the process that a plugin must
 * leave alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_SYSTEM_H
#define CONFORMANCE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#define KIT_REFUSALS 32
#define KIT_TEXT_BYTES 262144
#define KIT_SAMPLE_BYTES (32u << 20)

/* Descriptors of a child. */
#define KIT_BOARD_DESCRIPTOR 3
#define KIT_SAMPLES_DESCRIPTOR 4

/* A system call that was refused. */
typedef struct kit_refusal {
    int32_t number;
    char    path[124]; /* where it names a file */
} kit_refusal;

/*
 * What a child and the process that started it share. It is memory and no descriptor, so that a plugin that closes
 * every descriptor, or ends the process, cannot take away what is known until then.
 */
typedef struct kit_board {
    uint64_t    ticket;    /* of the parent; the child repeats it in `finished` when it came to its end             */
    uint64_t    finished;
    char        call[64];  /* the function of the plugin that runs, empty outside                                   */
    char        coder[128];
    uint32_t    refusal_count;
    uint32_t    text_count;
    kit_refusal refusals[KIT_REFUSALS];
    char        text[KIT_TEXT_BYTES];
} kit_board;

/* Anonymous shared memory of `count` bytes; a descriptor of at least 20, or -1. */
int kit_memory(const char *_Nonnull name, uint64_t count);

/* Maps such memory; NULL on failure. */
void *_Nullable kit_map(int descriptor, uint64_t count, int writable);

/* An empty board, for tests that run in the kit's own process. */
kit_board *_Nonnull kit_local_board(void);

void kit_board_begin(kit_board *_Nonnull board, uint64_t ticket);
void kit_board_call(kit_board *_Nonnull board, const char *_Nonnull name);
void kit_board_coder(kit_board *_Nonnull board, const char *_Nonnull name);
void kit_board_text(kit_board *_Nonnull board, const char *_Nonnull text, size_t count);
const char *_Nonnull kit_board_get_call(const kit_board *_Nonnull board);
const char *_Nonnull kit_board_get_coder(const kit_board *_Nonnull board);
const char *_Nonnull kit_board_get_text(const kit_board *_Nonnull board);
const kit_refusal *_Nullable kit_board_refusal(const kit_board *_Nonnull board, uint32_t index);
const char *_Nonnull kit_refusal_path(const kit_refusal *_Nonnull refusal);

/* The name of a system call that the kit refuses. */
const char *_Nonnull kit_call_name(int32_t number);

#define KIT_KIND_PROCESS 1 /* starts, ends or looks into processes        */
#define KIT_KIND_NETWORK 2
#define KIT_KIND_FILE    3
#define KIT_KIND_SYSTEM  4 /* changes the machine                         */
int kit_call_kind(int32_t number);

/* Starts a program in a process group of its own, in `folder`, with nothing to read. -1 on failure. */
int kit_spawn(char *_Nullable const *_Nonnull arguments, int board, int samples, int out, int err,
              const char *_Nonnull folder);

typedef struct kit_end {
    int32_t exit_status; /* -1 when a signal ended it */
    int32_t signal;
    int32_t is_late;     /* it was ended because its time was up */
    int32_t is_interrupted; /* it was ended because this process is to end */
    int32_t strays;      /* processes it left running; they are gone now */
    double  seconds;
    double  processor_seconds;
} kit_end;

/* Waits for a child for so many milliseconds, then ends it and what it started. */
kit_end kit_wait(int child, int milliseconds);

/* Ends what a signal interrupts: Ctrl-C reaches only the parent, since a child has a group of its own. */
void kit_end_with_parent(void);

typedef struct kit_bounds {
    uint64_t memory;      /* bytes of private memory   */
    uint64_t descriptors;
    uint64_t file_bytes;
    uint64_t processor_seconds;
} kit_bounds;

/* 1 where this program was built with a sanitizer, which needs more than a sealed process is given. */
int kit_is_sanitized(void);

/*
 * Bounds this process and has the kernel refuse what a plugin never needs: other processes, sockets, writing to files.
 * What is refused is noted on the board. 0, or -1 where the kernel has no filters.
 */
int kit_confine(kit_board *_Nonnull board, kit_bounds bounds);

/* From now on files cannot even be read. */
int kit_refuse_files(void);

#define KIT_SIGNALS 65

/* The part of a process's state that has no other name in Swift. */
typedef struct kit_state {
    uint64_t handlers[KIT_SIGNALS]; /* a hash of each signal's disposition */
    uint64_t mask;
    uint64_t rounding;
    uint32_t file_mode_mask;
} kit_state;

void kit_state_read(kit_state *_Nonnull state);
uint64_t kit_state_handler(const kit_state *_Nonnull state, int number);

/* Resident and virtual bytes of this process. */
uint64_t kit_resident_bytes(void);
/* Threads of this process. */
int kit_thread_count(void);

#endif
