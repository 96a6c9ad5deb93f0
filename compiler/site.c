#include "site.h"

#include <inttypes.h>

enum { INNERMOST = 3, OUTERMOST = 2 };

static void note(struct diags *diags, const struct site *site, const char *skipped)
{
    if (site->block)
        diag_note(diags, site->span, "%sin block '%s' called here", skipped, site->block);
    else
        diag_note(diags, site->span, "%sin the turn %s = %" PRId64, skipped, site->variable, site->turn);
}

void site_notes(struct diags *diags, const struct site *site)
{
    int depth = 0;
    for (const struct site *outer = site; outer; outer = outer->outer)
        depth++;
    const int left_out = depth > INNERMOST + OUTERMOST + 1 ? depth - INNERMOST - OUTERMOST : 0;
    char skipped[40] = "";
    for (int i = 0; site; site = site->outer, i++) {
        if (left_out && i >= INNERMOST && i < INNERMOST + left_out)
            continue;
        if (left_out && i == INNERMOST + left_out)
            snprintf(skipped, sizeof skipped, "... %d more ... ", left_out);
        note(diags, site, skipped);
        *skipped = '\0';
    }
}
