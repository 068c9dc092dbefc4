/*
 * board.h - memory that the kit shares with a check's process: the plugin's current call, the denied system calls, and
 * the result of the check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_BOARD_H
#define CONFORMANCE_BOARD_H

#include <stddef.h>
#include <stdint.h>

#define KIT_REFUSALS 32
#define KIT_TEXT_BYTES 262144
#define KIT_SAMPLE_BYTES (32u << 20)

/* A denied system call. */
typedef struct kit_refusal {
    int32_t number;
    char    path[124]; /* if it names a file */
} kit_refusal;

/*
 * The state that a child shares with its parent. It is memory without a descriptor: a plugin that closes every
 * descriptor or ends the process cannot destroy the results so far.
 */
typedef struct kit_board {
    uint64_t    ticket;    /* set by the parent; the child repeats it in `finished` at the end             */
    uint64_t    finished;
    char        call[64];  /* the running plugin function, or empty                                   */
    char        coder[128];
    uint32_t    refusal_count;
    uint32_t    text_count;
    kit_refusal refusals[KIT_REFUSALS];
    char        text[KIT_TEXT_BYTES];
} kit_board;

/* Creates anonymous shared memory of `count` bytes; returns a descriptor of at least 20, or -1. */
int kit_memory(const char *_Nonnull name, uint64_t count);

/* Maps such memory; NULL on failure. */
void *_Nullable kit_map(int descriptor, uint64_t count, int writable);

/* Returns an empty board, for tests in the kit's own process. */
kit_board *_Nonnull kit_local_board(void);

void kit_board_begin(kit_board *_Nonnull board, uint64_t ticket);
void kit_board_call(kit_board *_Nonnull board, const char *_Nonnull name);
void kit_board_coder(kit_board *_Nonnull board, const char *_Nonnull name);
void kit_board_text(kit_board *_Nonnull board, const char *_Nonnull text, size_t count);
const char *_Nonnull kit_board_get_call(const kit_board *_Nonnull board);
const char *_Nonnull kit_board_get_coder(const kit_board *_Nonnull board);
const char *_Nonnull kit_board_get_text(const kit_board *_Nonnull board);

/* Records a denied call; async-signal-safe, on any thread. */
void kit_board_note_refusal(kit_board *_Nonnull board, int32_t number, const char *_Nullable path);
const kit_refusal *_Nullable kit_board_refusal(const kit_board *_Nonnull board, uint32_t index);
const char *_Nonnull kit_refusal_path(const kit_refusal *_Nonnull refusal);

#endif
