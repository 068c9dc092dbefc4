/* Wrong: a rewrite changes a pixel. */
#define REWRITES
#define COPIED(value, at) ((at) == 40 ? (value) ^ 1 : (value))
#include "plugin.h"
