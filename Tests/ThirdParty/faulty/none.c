/* The correct plugin. */
#include "plugin.h"
