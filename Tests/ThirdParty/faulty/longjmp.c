/* Wrong: an error in decode jumps into set_source, which has already returned. */
#include <setjmp.h>
static jmp_buf place;
#define ON_SET_SOURCE if (setjmp(place)) return CPI_CORRUPT;
#define ON_DECODE longjmp(place, 1);
#include "plugin.h"
