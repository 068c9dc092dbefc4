/* Wrong: all sessions read from the source that was set last. */
#include <coder_plugin.h>
static const cpi_source *shared;
#define ON_SET_SOURCE shared = source;
#define ON_DECODE     d->source = shared;
#include "plugin.h"
