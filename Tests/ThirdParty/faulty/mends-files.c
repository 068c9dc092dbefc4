/* Wrong: a rewrite fills up an image that ends too early, so that it looks sound. */
#define REWRITES
#define WHEN_CUT
#include "plugin.h"
