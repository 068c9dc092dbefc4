/* Wrong: its pictures begin otherwise than its manifest says. */
#define SIGNATURE "89504e47"
#include "plugin.h"
