/*
 * coder_plugin.h - the coder plugin interface (CPI): the whole contract between coderhost and a plugin.
 *
 * This is the only header an author includes. C11, freestanding, no dependency; it also compiles as C++17 and
 * imports into Swift. Everything that crosses between host and plugin is declared here and nowhere else.
 *
 * Reading order: version, status, image, frame, io, option, host, decoder, encoder, plugin, extension, manifest.
 *
 * Rules that hold for every declaration
 *  - Size first. Every struct that crosses begins with `uint32_t size`, the number of bytes its writer knows, and is
 *    zero-initialised. A reader uses min(size, sizeof its own); what is missing reads as zero and means "absent" or
 *    "default". Fields are only ever appended. Four plain values are frozen for the life of a major version and
 *    carry no size: cpi_rect, cpi_pixel_format, cpi_rational and cpi_table. So is cpi_color, which lies inside another.
 *  - Flags words: an unknown bit in the upper half must be understood (refuse the call with CPI_UNSUPPORTED); an
 *    unknown bit in the lower half is a hint (ignore it). Reserved words are zero. The host holds every struct that a
 *    plugin fills against these two rules, and refuses one that breaks them: it needs a newer host.
 *  - Memory is freed by the side that allocated it. The host owns surfaces, sources, sinks, limits and options; the
 *    plugin owns everything reachable from its cpi_plugin. Strings are UTF-8 and NUL-terminated.
 *  - Nothing here relies on pointer identity, variadics, callbacks into the application or re-entry, so the same
 *    tables work across a process boundary.
 *  - A plugin never lets a C++ exception, a longjmp or a Swift error leave one of its functions.
 *
 * The contract line above each function has three slots: [caller - state - thread].
 *  - caller: host or plugin.
 *  - state: where in the call sequence the call is legal (see the diagrams in decoder.h and encoder.h).
 *  - thread: "session thread" means any thread, but never two at a time for one session; "any thread" means
 *    concurrent calls are legal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CODER_PLUGIN_H
#define CODER_PLUGIN_H

#include "cpi/version.h"
#include "cpi/status.h"
#include "cpi/image.h"
#include "cpi/frame.h"
#include "cpi/io.h"
#include "cpi/option.h"
#include "cpi/host.h"
#include "cpi/decoder.h"
#include "cpi/encoder.h"
#include "cpi/plugin.h"
#include "cpi/extension.h"
#include "cpi/manifest.h"

#endif
