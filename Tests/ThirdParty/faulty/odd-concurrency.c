/* Wrong: its concurrency is undefined. */
#define CONCURRENCY 7
#include "plugin.h"
