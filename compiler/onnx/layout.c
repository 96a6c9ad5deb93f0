#include "layout.h"

#include <assert.h>
#include <string.h>

#include "../ast.h"
#include "../format.h"

const char *layout_spec(struct arena *arena, const char *text)
{
    const struct source source = {.path = "<import>", .text = text, .length = strlen(text)};
    const struct diag_options options = {0};
    struct diags *diags = diags_new(arena, &source, &options);
    size_t length;
    parse_spec(arena, diags, &source);
    assert(diags_status(diags) == EXIT_DONE);
    return format_spec(arena, diags, &source, &length);
}
