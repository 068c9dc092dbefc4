#include "isolation_wire.h"

/* Both sides use this header; the structs at the start of a packet must have no padding in front. */
_Static_assert(sizeof(iso_header) == 32, "a packet's header");
_Static_assert(sizeof(iso_input) == 16, "in front of every request");
_Static_assert(sizeof(iso_shared) <= 4096, "the shared part is one page");
