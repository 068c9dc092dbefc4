#define _GNU_SOURCE
#include "board.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int kit_memory(const char *name, uint64_t count) {
    int low = memfd_create(name, MFD_CLOEXEC);
    if (low < 0) return -1;
    /* Above the descriptor numbers of a child, so that passing one never closes another. */
    int descriptor = fcntl(low, F_DUPFD_CLOEXEC, 20);
    close(low);
    if (descriptor >= 0 && count > 0 && ftruncate(descriptor, (off_t)count) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void *kit_map(int descriptor, uint64_t count, int writable) {
    void *memory = mmap(NULL, count, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

kit_board *kit_local_board(void) {
    static kit_board board;
    return &board;
}

static void copy_text(char *to, size_t room, const char *from, size_t count) {
    if (count >= room) count = room - 1;
    memcpy(to, from, count);
    to[count] = 0;
}

void kit_board_begin(kit_board *board, uint64_t ticket) {
    memset(board, 0, offsetof(kit_board, text) + 1);
    board->ticket = ticket;
}

void kit_board_call(kit_board *board, const char *name) {
    copy_text(board->call, sizeof board->call, name, strlen(name));
}

void kit_board_coder(kit_board *board, const char *name) {
    copy_text(board->coder, sizeof board->coder, name, strlen(name));
}

void kit_board_text(kit_board *board, const char *text, size_t count) {
    copy_text(board->text, sizeof board->text, text, count);
    board->text_count = (uint32_t)strlen(board->text);
}

const char *kit_board_get_call(const kit_board *board) { return board->call; }
const char *kit_board_get_coder(const kit_board *board) { return board->coder; }
const char *kit_board_get_text(const kit_board *board) { return board->text; }

void kit_board_note_refusal(kit_board *board, int32_t number, const char *path) {
    uint32_t index = __atomic_fetch_add(&board->refusal_count, 1, __ATOMIC_RELAXED);
    if (index >= KIT_REFUSALS) return;
    kit_refusal *refusal = &board->refusals[index];
    if (path) copy_text(refusal->path, sizeof refusal->path, path, strnlen(path, sizeof refusal->path - 1));
    refusal->number = number;
}

const kit_refusal *kit_board_refusal(const kit_board *board, uint32_t index) {
    return index < board->refusal_count && index < KIT_REFUSALS ? &board->refusals[index] : NULL;
}
const char *kit_refusal_path(const kit_refusal *refusal) { return refusal->path; }
