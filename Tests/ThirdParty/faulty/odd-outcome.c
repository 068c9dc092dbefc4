/* Wrong: a rewrite reports an undefined flag. */
#define REWRITES
#define OUTCOME_FLAGS 0x80000000u
#include "plugin.h"
