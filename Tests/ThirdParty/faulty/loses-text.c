/* Wrong: a rewrite removes text without a request. */
#define REWRITES
#define COPIES_TEXT 0
#include "plugin.h"
