/* Wrong: the manifest differs from the running plugin. -DMISMATCH: 1 coder id, 2 roles, 3 version, 4 coders. */
#ifndef MISMATCH
#define MISMATCH 1
#endif
#if MISMATCH == 1
#define MANIFEST_CODER "org.example.promised"
#elif MISMATCH == 2
#define MANIFEST_ROLES "\"decode\", \"encode\""
#elif MISMATCH == 3
#define MANIFEST_VERSION "9.9.9"
#else
#define MANIFEST_MORE_CODERS ", { \"id\": \"org.example.second\", \"roles\": [\"decode\"], " FORMATS " }"
#endif
#include "plugin.h"
