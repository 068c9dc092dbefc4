/* Wrong: it returns the same table for every extension id. The table's tag matches only "wrong/1". */
#include <coder_plugin.h>
static const cpi_table wrong_table;
#define EXTENSION (&wrong_table)
#include "plugin.h"

static const cpi_table wrong_table = {sizeof(cpi_items_api), 1, UINT64_C(0x9d033f268937f39e) /* "wrong/1" */};
