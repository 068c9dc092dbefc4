// memory.cpp - the allocators of libavif and dav1d.
//
// libavif aborts the process when its allocator fails, and does not limit the memory that a file makes it allocate. It
// leaves dav1d its log, which goes to standard error. It calls avifAlloc, avifFree and dav1d_default_settings through
// its table of functions. There the functions of this file replace them; outside of a session they change nothing.
//
// allocate() reports failure as std::bad_alloc, which unwinds through libavif to the shim function that called it.
//
// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <avif/avif.h>
#include <dav1d/dav1d.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace avif_shim {

thread_local Memory *Memory::current = nullptr;

bool Memory::take(uint64_t bytes)
{
    const uint64_t sum = used += bytes;
    if (sum <= allowed) return true;
    used -= bytes;
    refused = sum;
    return false;
}

void *Memory::allocate(size_t size)
{
    if (!take(size)) throw std::bad_alloc();
    void *object = std::malloc(size);
    try {
        if (!object) throw std::bad_alloc();
        blocks.emplace(object, size);
    } catch (...) {
        std::free(object);
        give_back(size);
        throw;
    }
    return object;
}

void Memory::free(void *object)
{
    const auto block = blocks.find(object);
    if (block != blocks.end()) {
        give_back(block->second);
        blocks.erase(block);
    }
    std::free(object);
}

// libavif leaks some blocks when an exception passes through it.
Memory::~Memory()
{
    for (const auto &block : blocks) std::free(block.first);
}

namespace {

// One image of dav1d: the header, then the planes.
struct Image {
    uint64_t size;
    static constexpr size_t room = DAV1D_PICTURE_ALIGNMENT;
};

// The layout of dav1d's own allocator (its documentation of Dav1dPicAllocator): sides rounded up to 128, 64 bytes of
// padding, no stride that maps all rows to the same cache lines.
int take_image(Dav1dPicture *image, void *cookie)
{
    const auto memory = static_cast<Memory *>(cookie);
    if (memory->poll && memory->poll(memory->context) != 0) {
        memory->is_stopped = true;
        return DAV1D_ERR(EIO);
    }
    const bool has_colors = image->p.layout != DAV1D_PIXEL_LAYOUT_I400;
    const bool is_wide = image->p.layout == DAV1D_PIXEL_LAYOUT_I444;
    const uint64_t width = (uint64_t(image->p.w) + 127) & ~uint64_t(127);
    const uint64_t height = (uint64_t(image->p.h) + 127) & ~uint64_t(127);
    const auto stride = [](uint64_t bytes) { return bytes % 1024 == 0 ? bytes + DAV1D_PICTURE_ALIGNMENT : bytes; };
    const uint64_t row = width << (image->p.bpc > 8);
    const uint64_t luma = stride(row), chroma = has_colors ? stride(is_wide ? row : row >> 1) : 0;
    const uint64_t luma_size = luma * height;
    const uint64_t chroma_size = chroma * (image->p.layout == DAV1D_PIXEL_LAYOUT_I420 ? height >> 1 : height);
    const uint64_t total = Image::room + luma_size + 2 * chroma_size + DAV1D_PICTURE_ALIGNMENT;
    if (!memory->take(total)) return DAV1D_ERR(ENOMEM);
    void *start = nullptr;
    if (posix_memalign(&start, DAV1D_PICTURE_ALIGNMENT, total) != 0) {
        memory->give_back(total);
        return DAV1D_ERR(ENOMEM);
    }
    static_cast<Image *>(start)->size = total;
    uint8_t *planes = static_cast<uint8_t *>(start) + Image::room;
    image->data[0] = planes;
    image->data[1] = has_colors ? planes + luma_size : nullptr;
    image->data[2] = has_colors ? planes + luma_size + chroma_size : nullptr;
    image->stride[0] = ptrdiff_t(luma);
    image->stride[1] = ptrdiff_t(chroma);
    image->allocator_data = start;
    return 0;
}

void give_image_back(Dav1dPicture *image, void *cookie)
{
    static_cast<Memory *>(cookie)->give_back(static_cast<Image *>(image->allocator_data)->size);
    std::free(image->allocator_data);
}

void discard(void *, const char *, va_list) {}

// MARK: Replacements of libavif's functions

// The functions that libavif would call without this copy of the plugin. A host may load a newer copy later.
decltype(&avifAlloc) earlier_allocate = avifAlloc;
decltype(&avifFree) earlier_free = avifFree;
decltype(&dav1d_default_settings) earlier_settings = dav1d_default_settings;

void *allocate(size_t size)
{
    return Memory::current ? Memory::current->allocate(size) : earlier_allocate(size);
}

void free_object(void *object)
{
    if (Memory::current) Memory::current->free(object);
    else earlier_free(object);
}

void default_settings(Dav1dSettings *settings)
{
    earlier_settings(settings);
    if (!Memory::current) return;
    settings->logger.callback = discard;
    settings->allocator.cookie = Memory::current;
    settings->allocator.alloc_picture_callback = take_image;
    settings->allocator.release_picture_callback = give_image_back;
}

template <typename Function>
void replace(const char *name, Function &earlier, Function replacement)
{
    replace_in_libavif(name, reinterpret_cast<void **>(&earlier), reinterpret_cast<void *>(replacement));
}

// At load time: libavif has not been called yet, and a sandbox may forbid the change later.
__attribute__((constructor)) void replace_functions()
{
    // One hook without the other works as well: both allocate with malloc.
    replace("avifAlloc", earlier_allocate, allocate);
    replace("avifFree", earlier_free, free_object);
    replace("dav1d_default_settings", earlier_settings, default_settings);
}

}
}
