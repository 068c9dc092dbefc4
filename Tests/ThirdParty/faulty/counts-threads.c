/* Wrong: its pixels depend on the number of threads. */
#define SAMPLE(value) ((value) ^ (d->base.services->thread_hint(d->base.services->ctx) & 5 ? 0x10 : 0))
#include "plugin.h"
