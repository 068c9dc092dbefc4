#include "allocation_fault.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>

extern "C" {
/* The allocator behind malloc, by the names that glibc gives it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
}

namespace {

std::atomic<bool>     armed{false};
std::atomic<uint64_t> wanted{0}, allowed{0}, counted{0}, taken{0}, failed{0};

/* The code of one loaded library, and whether its allocations count. */
struct Range {
    uintptr_t start, end;
    bool      counts;
};

constexpr size_t    most_ranges = 512;
Range               ranges[most_ranges];
std::atomic<size_t> range_count{0};

/* libstdc++ is absent: `operator new` is replaced below, so its caller is the library that wants the memory. */
const char *const libraries[] = {
    "libcoder-", "libjpeg", "libpng", "libisal", "libdeflate", "libz.", "libwebp", "libsharpyuv", "libheif", "libavif",
    "libde265", "libdav1d", "libaom", "libyuv", "libx265", "liblcms2", "libgav1", "libtiff",
    "libjxl",
};

int note(dl_phdr_info *info, size_t, void *) {
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    bool        counts = false;
    for (const char *library : libraries) counts = counts || strncmp(name, library, strlen(library)) == 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto  &part = info->dlpi_phdr[i];
        const size_t at = range_count.load();
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || at == most_ranges) continue;
        const uintptr_t start = info->dlpi_addr + part.p_vaddr;
        ranges[at] = {start, start + part.p_memsz, counts};
        range_count.store(at + 1);
    }
    return 0;
}

bool counts(const void *caller) {
    const auto   place = reinterpret_cast<uintptr_t>(caller);
    const size_t count = range_count.load();
    for (size_t i = 0; i < count; i++)
        if (place >= ranges[i].start && place < ranges[i].end) return ranges[i].counts;
    return false;
}

/* Whether this allocation has to fail. */
bool fails(size_t size, const void *caller) {
    if (!armed.load(std::memory_order_relaxed) || !counts(caller)) return false;
    const uint64_t number = counted.fetch_add(1) + 1;
    const uint64_t sum = taken.fetch_add(size) + size;
    const uint64_t most = allowed.load();
    if (number != wanted.load() && (most == 0 || sum <= most)) return false;
    if (number != wanted.load()) taken.fetch_sub(size);
    failed.fetch_add(1);
    errno = ENOMEM;
    return true;
}

size_t product(size_t count, size_t size) {
    size_t result;
    return __builtin_mul_overflow(count, size, &result) ? SIZE_MAX : result;
}

void *made(size_t size, size_t alignment) {
    void *block = alignment > alignof(std::max_align_t) ? __libc_memalign(alignment, size) : __libc_malloc(size);
    if (!block) throw std::bad_alloc();
    return block;
}

}  // namespace

extern "C" {

void allocation_fault_arm(uint64_t nth, uint64_t most) {
    armed = false;
    range_count = 0;
    dl_iterate_phdr(note, nullptr);
    wanted = nth;
    allowed = most;
    counted = taken = failed = 0;
    armed = true;
}

uint64_t allocation_fault_disarm(void) {
    armed = false;
    return counted;
}

uint64_t allocation_fault_bytes(void) { return taken; }
uint64_t allocation_fault_failures(void) { return failed; }

void *malloc(size_t size) {
    return fails(size, __builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails(product(count, size), __builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return size > 0 && fails(size, __builtin_return_address(0)) ? nullptr : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    return fails(size, __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails(size, __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size) {
    const int before = errno;
    void     *block = fails(size, __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
    errno = before;
    if (!block) return ENOMEM;
    *place = block;
    return 0;
}

}  // extern "C"

#define NEW(ALIGNMENT)                                                         \
    if (fails(size, __builtin_return_address(0))) throw std::bad_alloc();      \
    return made(size ? size : 1, ALIGNMENT)

#define NEW_NOTHROW(ALIGNMENT)                                                 \
    if (fails(size, __builtin_return_address(0))) return nullptr;              \
    return ALIGNMENT > alignof(std::max_align_t) ? __libc_memalign(ALIGNMENT, size ? size : 1) : __libc_malloc(size ? size : 1)

void *operator new(size_t size) { NEW(0); }
void *operator new[](size_t size) { NEW(0); }
void *operator new(size_t size, std::align_val_t alignment) { NEW(static_cast<size_t>(alignment)); }
void *operator new[](size_t size, std::align_val_t alignment) { NEW(static_cast<size_t>(alignment)); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { NEW_NOTHROW(size_t{0}); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { NEW_NOTHROW(size_t{0}); }
