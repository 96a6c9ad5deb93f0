#include "label.h"

#include <string.h>

#include "utf8.h"

enum { LONGEST_LABEL = 200 };       /* of one source */

static const char *shorten(struct arena *arena, const char *name)
{
    if (strlen(name) <= LONGEST_LABEL)
        return name;
    return arena_format(arena, "%.*s...", (int)utf8_cut(name, LONGEST_LABEL), name);
}

const char *label_param(struct arena *arena, const struct param *param)
{
    switch (param->kind) {
    case PARAM_SOURCE:
        return utf8_printable(arena, shorten(arena, param->tensor));
    case PARAM_ZERO:
        return "zeros";
    case PARAM_STACK_ROWS:
    case PARAM_JOIN:
    case PARAM_ADD:
        return arena_format(arena, "%s+%s", label_param(arena, param->of[0]), label_param(arena, param->of[1]));
    case PARAM_BN_SHIFT:
        return label_param(arena, param->of[1]);
    case PARAM_BN_SCALE:
    case PARAM_SCALE_ROWS:
    case PARAM_SCALE_COLUMNS:
    case PARAM_MATVEC:
    case PARAM_MULTIPLY:
        break;
    }
    return label_param(arena, param->of[0]);
}

const char *label_layer(struct arena *arena, const struct param *param)
{
    static const char ending[] = ".weight";
    const char *label = label_param(arena, param);
    char *out = arena_copy(arena, label, strlen(label)), *to = out;
    while (*label) {
        if (!strncmp(label, ending, sizeof ending - 1))
            label += sizeof ending - 1;
        else
            *to++ = *label++;
    }
    *to = '\0';
    return out;
}
