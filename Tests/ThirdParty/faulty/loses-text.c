/* Wrong: a rewrite leaves out the text, which it is not asked to. */
#define REWRITES
#define COPIES_TEXT 0
#include "plugin.h"
