/* Wrong: the manifest says something else than the running plugin. -DLIE: 1 coder id, 2 roles, 3 version, 4 coders. */
#ifndef LIE
#define LIE 1
#endif
#if LIE == 1
#define MANIFEST_CODER "org.example.promised"
#elif LIE == 2
#define MANIFEST_ROLES "\"decode\", \"encode\""
#elif LIE == 3
#define MANIFEST_VERSION "9.9.9"
#else
#define MANIFEST_MORE_CODERS ", { \"id\": \"org.example.second\", \"roles\": [\"decode\"], " FORMATS " }"
#endif
#include "plugin.h"
