/* Wrong: it releases nothing when a session ends. */
#define RELEASES 0
#include "plugin.h"
