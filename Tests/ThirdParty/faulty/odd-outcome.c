/* Wrong: a rewrite reports a flag that does not exist. */
#define REWRITES
#define OUTCOME_FLAGS 0x80000000u
#include "plugin.h"
