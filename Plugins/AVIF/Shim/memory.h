// memory.h - the memory of one session of libavif: counted, bounded, and freed with the session.
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

// What libavif and dav1d allocate for one decoder or encoder. One thread at a time uses it; threads of dav1d may give
// images back meanwhile.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory();

    // Bytes that may be in use at one time.
    uint64_t allowed = UINT64_MAX;
    // Whether the caller wants to stop; asked before each image that dav1d decodes.
    int32_t (*poll)(void *context) = nullptr;
    void *context = nullptr;

    // What happened in a call: bytes in use that were asked for and refused, and whether `poll` said stop.
    uint64_t refused = 0;
    bool is_stopped = false;

    // What libavif allocates and frees here. Throws std::bad_alloc.
    void *allocate(size_t size);
    void free(void *object);

    // Whether `object` was allocated here and not freed since.
    bool holds(void *object) const { return blocks.count(object) != 0; }

    // Counts bytes as used; false when too many are.
    bool take(uint64_t bytes);
    void give_back(uint64_t bytes) { used -= bytes; }

    // The one that the calls of this thread allocate from.
    static thread_local Memory *current;

private:
    std::atomic<uint64_t> used{0};
    std::unordered_map<void *, size_t> blocks;
};

// Has libavif call `replacement` for a function that it takes from another library or from itself by name; nothing
// happens where libavif calls no function of that name, or its table cannot be changed (hooks.cpp). `earlier`, which has to
// hold the original, is set to what another copy of this plugin, loaded before, has put there: it has to be called where
// this copy has no session.
void replace_in_libavif(const char *name, void **earlier, void *replacement);

// Makes a Memory the current one for as long as it lives.
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
