/* The budget of a spec, against what the compiled network keeps (footprint.h). */
#ifndef MLPC_BUDGET_H
#define MLPC_BUDGET_H

#include "plan.h"

/* Records an error for the device, and one for the host, where the network keeps more than the spec allows. A CPU
 * network keeps nothing on a device: that budget does not count. Call it once forms are chosen. */
bool budget_holds(const struct plan *plan, bool embedded, struct diags *diags);

#endif
