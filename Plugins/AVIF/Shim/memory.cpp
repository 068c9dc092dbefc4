// memory.cpp - the allocators of libavif and dav1d.
//
// libavif aborts the process when its allocator fails, does not bound what a file makes it allocate, and leaves dav1d
// its log, which goes to standard error. libavif calls avifAlloc, avifFree and dav1d_default_settings through the
// dynamic linker. The linker finds the definitions in this file first: it searches the plugin before the libraries that
// the plugin needs. This does not hold for a libavif that the process loaded earlier; such a libavif keeps its own.
//
// avifAlloc reports failure as std::bad_alloc, which unwinds through libavif to the shim function that called it.
//
// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <avif/avif.h>
#include <dav1d/dav1d.h>
#include <dlfcn.h>

#include <cstdarg>
#include <cstdlib>
#include <new>

namespace avif_shim {

// Stands in front of what avifAlloc returns, which stays aligned to 16 bytes.
struct alignas(16) Memory::Block {
    Memory *owner;
    Block *next, *previous;
    uint64_t size;
};

thread_local Memory *Memory::current = nullptr;

bool Memory::take(uint64_t bytes)
{
    const uint64_t sum = used += bytes;
    if (sum <= allowed) return true;
    used -= bytes;
    refused = sum;
    return false;
}

struct Access {
    static void *allocate(Memory *owner, uint64_t size)
    {
        const uint64_t total = sizeof(Memory::Block) + size;
        if (total < size || (owner && !owner->take(total))) throw std::bad_alloc();
        const auto block = static_cast<Memory::Block *>(std::malloc(total));
        if (!block) {
            if (owner) owner->give_back(total);
            throw std::bad_alloc();
        }
        *block = {owner, owner ? owner->first : nullptr, nullptr, total};
        if (block->next) block->next->previous = block;
        if (owner) owner->first = block;
        return block + 1;
    }

    static void free(void *object)
    {
        if (!object) return;
        const auto block = static_cast<Memory::Block *>(object) - 1;
        if (block->next) block->next->previous = block->previous;
        if (block->previous) block->previous->next = block->next;
        else if (block->owner) block->owner->first = block->next;
        if (block->owner) block->owner->give_back(block->size);
        std::free(block);
    }
};

bool Memory::holds(const void *object) const
{
    for (const Block *block = first; block; block = block->next) {
        if (block + 1 == object) return true;
    }
    return false;
}

// libavif loses some blocks when an exception passes.
Memory::~Memory()
{
    while (first) std::free(std::exchange(first, first->next));
}

namespace {

// One image of dav1d: the header, then the planes.
struct Image {
    uint64_t size;
    static constexpr size_t room = DAV1D_PICTURE_ALIGNMENT;
};

// As dav1d's own allocator lays planes out (its documentation of Dav1dPicAllocator: sides rounded up to 128, 64 bytes
// behind; no stride that maps all rows to the same lines of the cache).
int take_image(Dav1dPicture *picture, void *cookie)
{
    const auto memory = static_cast<Memory *>(cookie);
    if (memory->poll && memory->poll(memory->context) != 0) {
        memory->is_stopped = true;
        return DAV1D_ERR(EIO);
    }
    const bool has_colors = picture->p.layout != DAV1D_PIXEL_LAYOUT_I400;
    const bool is_wide = picture->p.layout == DAV1D_PIXEL_LAYOUT_I444;
    const uint64_t width = (uint64_t(picture->p.w) + 127) & ~uint64_t(127);
    const uint64_t height = (uint64_t(picture->p.h) + 127) & ~uint64_t(127);
    const auto stride = [](uint64_t bytes) { return bytes % 1024 == 0 ? bytes + DAV1D_PICTURE_ALIGNMENT : bytes; };
    const uint64_t row = width << (picture->p.bpc > 8);
    const uint64_t luma = stride(row), chroma = has_colors ? stride(is_wide ? row : row >> 1) : 0;
    const uint64_t luma_size = luma * height;
    const uint64_t chroma_size = chroma * (picture->p.layout == DAV1D_PIXEL_LAYOUT_I420 ? height >> 1 : height);
    const uint64_t total = Image::room + luma_size + 2 * chroma_size + DAV1D_PICTURE_ALIGNMENT;
    if (!memory->take(total)) return DAV1D_ERR(ENOMEM);
    void *start = nullptr;
    if (posix_memalign(&start, DAV1D_PICTURE_ALIGNMENT, total) != 0) {
        memory->give_back(total);
        return DAV1D_ERR(ENOMEM);
    }
    static_cast<Image *>(start)->size = total;
    uint8_t *planes = static_cast<uint8_t *>(start) + Image::room;
    picture->data[0] = planes;
    picture->data[1] = has_colors ? planes + luma_size : nullptr;
    picture->data[2] = has_colors ? planes + luma_size + chroma_size : nullptr;
    picture->stride[0] = ptrdiff_t(luma);
    picture->stride[1] = ptrdiff_t(chroma);
    picture->allocator_data = start;
    return 0;
}

void give_image_back(Dav1dPicture *picture, void *cookie)
{
    static_cast<Memory *>(cookie)->give_back(static_cast<Image *>(picture->allocator_data)->size);
    std::free(picture->allocator_data);
}

void discard(void *, const char *, va_list) {}

}
}

#define SHARED extern "C" __attribute__((visibility("default")))

SHARED void *avifAlloc(size_t size) { return avif_shim::Access::allocate(avif_shim::Memory::current, size); }

SHARED void avifFree(void *object) { avif_shim::Access::free(object); }

SHARED void dav1d_default_settings(Dav1dSettings *settings)
{
    static const auto original =
        reinterpret_cast<void (*)(Dav1dSettings *)>(dlsym(RTLD_NEXT, "dav1d_default_settings"));
    original(settings);
    settings->logger.callback = avif_shim::discard;
    if (!avif_shim::Memory::current) return;
    settings->allocator.cookie = avif_shim::Memory::current;
    settings->allocator.alloc_picture_callback = avif_shim::take_image;
    settings->allocator.release_picture_callback = avif_shim::give_image_back;
}
