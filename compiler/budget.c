#include "budget.h"

#include <inttypes.h>

#include "footprint.h"
#include "quantity.h"

static bool holds(const struct plan *plan, enum budget_entry entry, const struct footprint *footprint,
                  struct diags *diags)
{
    const struct budget *budget = &plan->budget;
    int64_t over = footprint->bytes - budget->bytes[entry];
    if (!budget->given[entry] || over <= 0)
        return true;
    diag_error(diags, DIAG_OVER_BUDGET, budget->span[entry],
               "the network keeps %" PRId64 " bytes on the %s, %" PRId64 "%s more than its budget; largest: %s",
               footprint->bytes, entry == BUDGET_DEVICE ? "device" : "host", over,
               over < 1024 ? "" : arena_format(plan->arena, " (%s)", quantity_bytes(plan->arena, (double)over)),
               footprint_largest(plan, footprint));
    return false;
}

bool budget_holds(const struct plan *plan, bool embedded, struct diags *diags)
{
    struct footprint device = footprint_device(plan), host = footprint_host(plan, embedded);
    bool on_device = holds(plan, BUDGET_DEVICE, &device, diags);
    return holds(plan, BUDGET_HOST, &host, diags) && on_device;
}
