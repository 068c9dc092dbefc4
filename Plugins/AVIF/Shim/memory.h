// memory.h - the memory of one libavif session: counted, bounded, and freed with the session.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef AVIF_SHIM_MEMORY_H
#define AVIF_SHIM_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace avif_shim {

// The memory that libavif and dav1d allocate for one decoder or encoder. One thread at a time uses it; meanwhile
// threads of dav1d may free images.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory();

    // The limit of bytes in use.
    uint64_t allowed = UINT64_MAX;
    // Returns whether the caller wants to stop; called before each image that dav1d decodes.
    int32_t (*poll)(void *context) = nullptr;
    void *context = nullptr;

    // The result of a call: the bytes in use for which an allocation was refused, and whether `poll` requested a stop.
    uint64_t refused = 0;
    bool is_stopped = false;

    // Allocates and frees for libavif. Throws std::bad_alloc.
    void *allocate(size_t size);
    void free(void *object);

    // Whether `object` was allocated here and not freed since.
    bool holds(void *object) const { return blocks.count(object) != 0; }

    // Counts bytes as used; false if they exceed the limit.
    bool take(uint64_t bytes);
    void give_back(uint64_t bytes) { used -= bytes; }

    // The Memory from which calls on this thread allocate.
    static thread_local Memory *current;

private:
    std::atomic<uint64_t> used{0};
    std::unordered_map<void *, size_t> blocks;
};

// Makes libavif call `replacement` for a function that it imports or calls by name. Does nothing if libavif calls no
// function of that name, or if its table cannot be changed (hooks.cpp). `earlier` must hold the original. It receives
// the replacement of an earlier copy of this plugin; call it if this copy has no session.
void replace_in_libavif(const char *name, void **earlier, void *replacement);

// Makes a Memory the current one during its lifetime.
class Use {
public:
    explicit Use(Memory &memory) : before(std::exchange(Memory::current, &memory)) {}
    ~Use() { Memory::current = before; }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

private:
    Memory *before;
};

}
#endif
