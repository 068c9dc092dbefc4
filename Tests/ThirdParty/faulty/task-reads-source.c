/* Wrong: its tasks call the source, which only the session thread may do. */
#define _GNU_SOURCE
#include <coder_plugin.h>
static const cpi_source *asked;
#define PARALLEL
#define ON_SET_SOURCE asked = source;
#define PAINTED(value, thread) (asked->complete(asked->ctx), (value))
#include "plugin.h"
