/*
 * parallel.h - the host's threads in a worker (cpi_parallel_api): started before the worker is sealed, so that a plugin
 * that may start none can use them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <coder_plugin.h>

#define PARALLEL_LIMIT 64 /* threads beside the first */

/* Starts threads that wait for work; fewer where the system has none to give. */
void parallel_begin(uint32_t threads);

/* The table that plugins find under CPI_EXT_PARALLEL. */
extern const cpi_parallel_api parallel_table;

#endif
