/* Wrong: its pixels depend on the thread that paints them. */
#define PARALLEL
#define PAINTED(value, thread) ((value) ^ (thread))
#include "plugin.h"
