/* Wrong: its concurrency has no definition. */
#define CONCURRENCY 7
#include "plugin.h"
