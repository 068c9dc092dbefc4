/*
 * coder_plugin.h - the coder plugin interface (CPI): the whole contract between coderhost and a plugin.
 *
 * This is the only header an author includes. C11, freestanding, no dependency; it also compiles as C++17 and
 * imports into Swift. Everything that crosses between host and plugin is declared here and nowhere else.
 *
 * Read its parts in the order in which they are included below; those from extension.h on are optional abilities.
 * cpi/session.h helps plugins in C and is included separately.
 *
 * Rules that hold for every declaration
 *  - Size first. Every struct that crosses begins with `uint32_t size`, the number of bytes its writer knows, and is
 *    zero-initialized. A reader uses min(size, sizeof its own); what is missing reads as zero and means "absent" or
 *    "default". A writer of an output struct writes no byte behind the `size` that it found there. Fields are only ever
 *    appended. Plain values without a size are frozen for the life of a major version; their comments say so.
 *  - New values. Each side knows the other's minor and sends no value, flag, status or table that is newer. A pixel
 *    format that the host does not know is passed over for the next offer. Every other value without a definition is a
 *    fault of the plugin, which the host reports with the name of the field; only an unknown concurrency is served.
 *  - Must-understand bits. An unknown flag in the upper half of a flags word, and a reserved word that is not zero,
 *    must be understood; unknown flags in the lower half are hints to ignore. The host checks every struct of a plugin
 *    against this rule and refuses it as made for a newer host. A plugin needs no such checks: the host sends it
 *    nothing newer than its minor.
 *  - Ownership. Memory is freed by the side that allocated it. The host owns surfaces, sources, sinks, limits and
 *    options; the plugin owns everything reachable from its cpi_plugin. Strings are UTF-8 and NUL-terminated. Arguments
 *    are valid during the call unless the function's comment states longer.
 *  - Nothing here relies on pointer identity, variadics, callbacks into the application or re-entry, so the same
 *    tables work across a process boundary.
 *
 * Duties of a plugin; `coderhost plugin check` checks each
 *  1. No C++ exception, longjmp or Swift error leaves one of its functions.
 *  2. It works in a process that was forked after init, with all system calls forbidden but those for memory, time and
 *     the threads that its manifest declares (isolation.threads). It opens no file and no socket after init.
 *  3. It starts no threads beyond those; services->thread_hint() says how many are worth using. cpi_parallel_api needs
 *     no declaration.
 *  4. It changes nothing that the process owns: signal handlers, locale, environment, working directory, umask,
 *     rounding mode. It writes nothing to stdout, stderr or another descriptor.
 *  5. The same input and options give the same output: bit for bit, in every process, with any number of threads.
 *  6. It returns CPI_CANCELLED or CPI_DEADLINE within 100 ms after poll() does, so it polls every 10 ms of work.
 *  7. Sessions share no mutable state, unless it is locked. close frees everything that a session holds, in every
 *     state.
 *  8. A decode of a band that begins at row 0 starts the frame anew; decoding a frame again gives the same pixels.
 *
 * The contract line above each function has three slots: [caller - state - thread].
 *  - caller: host or plugin.
 *  - state: where in the call sequence the call is legal (see the diagrams in decoder.h and encoder.h).
 *  - thread: "session thread" means any thread, but never two at a time for one session; "any thread" means
 *    concurrent calls are legal.
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
#include "cpi/manifest.h"
#include "cpi/extension.h"
#include "cpi/items.h"
#include "cpi/rows.h"
#include "cpi/parallel.h"
#include "cpi/rewrite.h"
#endif
