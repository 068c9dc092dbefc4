/* Wrong: a rewrite fills up a truncated image, so that it looks complete. */
#define REWRITES
#define WHEN_CUT
#include "plugin.h"
