// hooks.cpp - changes the table through which libavif calls imported functions.
//
// A plugin exports one symbol, so the dynamic linker cannot bind libavif to replacement functions. libavif's table has
// an address for each function (System V ABI, AMD64 supplement, section 5.2 "Procedure Linkage Table"; the same on
// other processors). If the linker made it read-only, the hook makes it writable for a moment.
//
// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <avif/avif.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace avif_shim {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kinds[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#elif defined(__aarch64__)
constexpr uint32_t kinds[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#else
// Nothing was replaced.
constexpr uint32_t kinds[] = {UINT32_MAX, UINT32_MAX};
#endif

struct Table {
    const ElfW(Rela) *relocations[2] = {};
    size_t counts[2] = {};
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;

    explicit Table(const ElfW(Dyn) *entry)
    {
        for (; entry->d_tag != DT_NULL; entry++) {
            const ElfW(Addr) value = entry->d_un.d_ptr;
            switch (entry->d_tag) {
            case DT_JMPREL: relocations[0] = reinterpret_cast<const ElfW(Rela) *>(value); break;
            case DT_PLTRELSZ: counts[0] = value / sizeof(ElfW(Rela)); break;
            case DT_RELA: relocations[1] = reinterpret_cast<const ElfW(Rela) *>(value); break;
            case DT_RELASZ: counts[1] = value / sizeof(ElfW(Rela)); break;
            case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym) *>(value); break;
            case DT_STRTAB: names = reinterpret_cast<const char *>(value); break;
            default: break;
            }
        }
        if (!relocations[0]) counts[0] = 0;
        if (!relocations[1]) counts[1] = 0;
    }
};

// The part of a library that the linker made read-only; it ends at the last whole page.
struct ReadOnly {
    uintptr_t base, start = 0, end = 0;

    static int look(dl_phdr_info *info, size_t, void *out)
    {
        auto &found = *static_cast<ReadOnly *>(out);
        if (info->dlpi_addr != found.base) return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
            const ElfW(Phdr) &part = info->dlpi_phdr[i];
            if (part.p_type != PT_GNU_RELRO) continue;
            found.start = found.base + part.p_vaddr;
            found.end = found.start + part.p_memsz;
        }
        return 1;
    }
};

void write(uintptr_t base, uintptr_t place, void *value)
{
    ReadOnly part = {base};
    dl_iterate_phdr(ReadOnly::look, &part);
    const auto mask = ~(uintptr_t(sysconf(_SC_PAGESIZE)) - 1);
    const auto page = place & mask;
    const bool is_closed = page >= (part.start & mask) && page < (part.end & mask);
    const auto size = size_t(~mask + 1);
    if (is_closed && mprotect(reinterpret_cast<void *>(page), size, PROT_READ | PROT_WRITE) != 0) return;
    reinterpret_cast<std::atomic<void *> *>(place)->store(value);
    if (is_closed) mprotect(reinterpret_cast<void *>(page), size, PROT_READ);
}

// Whether a function is neither in libavif, whose table may begin with the linker's entry point, nor in the library
// of the original.
bool is_foreign(void *function, void *libavif, void *original)
{
    Dl_info found = {}, usual = {};
    return dladdr(function, &found) && dladdr(original, &usual) && found.dli_fbase != libavif &&
           found.dli_fbase != usual.dli_fbase;
}

}

void replace_in_libavif(const char *name, void **earlier, void *replacement)
{
    Dl_info info = {};
    link_map *map = nullptr;
    const auto function = reinterpret_cast<const void *>(&avifVersion);
    if (!dladdr1(function, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) || !map) return;
    const Table table(map->l_ld);
    if (!table.symbols || !table.names) return;
    for (int list = 0; list < 2; list++) {
        for (size_t i = 0; i < table.counts[list]; i++) {
            const ElfW(Rela) &entry = table.relocations[list][i];
            const uint32_t kind = uint32_t(ELF64_R_TYPE(entry.r_info));
            if (kind != kinds[0] && kind != kinds[1]) continue;
            if (std::strcmp(table.names + table.symbols[ELF64_R_SYM(entry.r_info)].st_name, name) != 0) continue;
            const uintptr_t place = map->l_addr + entry.r_offset;
            void *const found = reinterpret_cast<std::atomic<void *> *>(place)->load();
            if (is_foreign(found, info.dli_fbase, *earlier)) *earlier = found;
            write(map->l_addr, place, replacement);
        }
    }
}

}
