/* Wrong: a rewrite keeps text that it must remove. */
#define REWRITES
#define REMOVES_TEXT 0
#include "plugin.h"
