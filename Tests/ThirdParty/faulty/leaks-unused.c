/* Wrong: closing a session without a source frees nothing. */
#define RELEASES (s->state != OPENED)
#include "plugin.h"
