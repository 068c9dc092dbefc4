/* Wrong: it keeps the session in a global variable while it decodes. */
#define _DEFAULT_SOURCE
#include <unistd.h>
static void *volatile current;
#define ON_DECODE                                                                                                      \
    current = d;                                                                                                       \
    usleep(500);                                                                                                       \
    if (current != d) return fail(&d->base, error, CPI_INTERNAL, "two sessions at a time");
#include "plugin.h"
