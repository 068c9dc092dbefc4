/*
 * parallel.h - the host's threads in a worker (cpi_parallel_api). They start before the worker is sealed, so that
 * plugins that may not start threads can use them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <coder_plugin.h>

#define PARALLEL_LIMIT 64 /* threads besides the first */

/* Starts threads that wait for work; fewer if the system cannot start more. */
void parallel_begin(uint32_t threads);

/* The table for the extension id CPI_EXT_PARALLEL. */
extern const cpi_parallel_api parallel_table;

#endif
