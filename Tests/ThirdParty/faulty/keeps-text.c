/* Wrong: a rewrite keeps the text that it is asked to leave out. */
#define REWRITES
#define REMOVES_TEXT 0
#include "plugin.h"
