/* Wrong for all current hosts: it needs minor 99. The manifest declares this, so it is never mapped. */
#define MINOR_NEEDED 99
#include "plugin.h"
