#include "depfile.h"

#include <string.h>

/* As make reads it: `$` doubled; space, `#` and `\` behind a backslash. */
static const char *escape(struct arena *arena, const char *path)
{
    char *out = arena_array(arena, 2 * strlen(path) + 1, 1), *to = out;
    for (; *path; path++) {
        if (*path == '$')
            *to++ = '$';
        else if (strchr(" #\\\t", *path))
            *to++ = '\\';
        *to++ = *path;
    }
    return out;
}

/* What the rule is for, unless -MT says otherwise: the program, the library, or the C source. */
static const char *default_target(const struct plan *plan, const struct options *options)
{
    const char *folder = options->output ? options->output : ".";
    if (options->mode == MODE_PROGRAM)
        return options->output ? options->output : plan->name;
    return arena_format(plan->arena, options->mode == MODE_LIBRARY ? "%s/lib%s.a" : "%s/%s.c", folder, plan->prefix);
}

const char *depfile_rule(const struct depfile *depfile, const struct plan *plan, const struct options *options)
{
    struct arena *arena = plan->arena;
    const char *target = options->depfile_target ? options->depfile_target : default_target(plan, options);
    const char *text = arena_format(arena, "%s:", escape(arena, target));
    const char *const files[] = {depfile->spec, depfile->weights, depfile->plan};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i])
            text = arena_format(arena, "%s %s", text, escape(arena, files[i]));
    }
    return arena_format(arena, "%s\n", text);
}

const char *depfile_path(const struct plan *plan, const struct options *options)
{
    if (options->depfile_path || options->dependencies)
        return options->depfile_path;
    return arena_format(plan->arena, "%s.d", default_target(plan, options));
}
