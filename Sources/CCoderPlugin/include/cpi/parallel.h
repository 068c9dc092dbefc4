/*
 * parallel.h - the host's threads, for plugins that split one image into independent pieces.
 *
 * A plugin that uses these needs no threads of its own, obeys the caller's `threads` option and works in a worker whose
 * manifest declares none.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_PARALLEL_H
#define CPI_PARALLEL_H
#include "extension.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_EXT_PARALLEL     "coderhost.parallel/1"
#define CPI_EXT_PARALLEL_TAG ((uint64_t)0xe3d0cd8de04e6711)

/* One piece of work. `thread` is below services->thread_hint(): an index for scratch memory that no two running tasks
   share. Returns CPI_OK, or a negative status, which keeps further tasks from starting. */
typedef cpi_status (*cpi_task)(void *CPI_NULLABLE arg, uint32_t index, uint32_t thread);

typedef struct cpi_parallel_api {
    cpi_table table;

    /* Runs task(arg, 0 ... count - 1), each once, in any order and at the same time, the calling thread among them;
       returns when all that began have returned. CPI_OK, the negative status of the lowest index that failed, or
       CPI_CANCELLED or CPI_DEADLINE, for which it polls before each task. Tasks call neither run nor a source or sink.
       Output must not depend on the number of threads. [plugin - in a call of a session - session thread, blocks] */
    cpi_status (*run)(const cpi_services *services, uint32_t count, cpi_task task, void *CPI_NULLABLE arg);
} cpi_parallel_api;

CPI_ASSUME_NONNULL_END
#endif
