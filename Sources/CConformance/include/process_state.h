/*
 * process_state.h - process state that a plugin must not change and that Swift cannot read itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_PROCESS_STATE_H
#define CONFORMANCE_PROCESS_STATE_H

#include <stdint.h>

#define KIT_SIGNALS 65

typedef struct kit_state {
    uint64_t handlers[KIT_SIGNALS]; /* a hash of each signal's disposition */
    uint64_t mask;
    uint64_t rounding;
    uint32_t file_mode_mask;
} kit_state;

void kit_state_read(kit_state *_Nonnull state);
uint64_t kit_state_handler(const kit_state *_Nonnull state, int number);

/* Resident bytes of this process. */
uint64_t kit_resident_bytes(void);
/* Threads of this process. */
int kit_thread_count(void);

#endif
