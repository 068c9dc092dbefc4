/* Wrong for every host of today: it needs minor 99. The manifest says so, so it is never mapped. */
#define MINOR_NEEDED 99
#include "plugin.h"
