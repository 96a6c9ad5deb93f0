#include "depfile.h"

#include <string.h>

/* As make reads it, and gcc writes it: `$` doubled; blanks, `#` and `:` behind a backslash. A backslash stands for
 * itself, but where one of them follows. */
static const char *escape(struct arena *arena, const char *path)
{
    char *out = arena_array(arena, 3 * strlen(path) + 1, 1), *to = out;
    size_t slashes = 0;             /* just before */
    for (; *path; path++) {
        if (strchr(" \t#:", *path)) {
            memset(to, '\\', slashes + 1);
            to += slashes + 1;
        } else if (*path == '$') {
            *to++ = '$';
        }
        slashes = *path == '\\' ? slashes + 1 : 0;
        *to++ = *path;
    }
    return out;
}

/* What the rule is for, unless -MT or -MQ say otherwise: the program, the library, or the C source. */
static const char *default_target(const struct plan *plan, const struct options *options)
{
    const char *folder = options->output ? options->output : ".";
    if (options->mode == MODE_PROGRAM)
        return options->output ? options->output : plan->name;
    return arena_format(plan->arena, options->mode == MODE_LIBRARY ? "%s/lib%s.a" : "%s/%s.c", folder, plan->prefix);
}

static const char *targets(const struct plan *plan, const struct options *options)
{
    struct arena *arena = plan->arena;
    const char *text = NULL;
    for (size_t i = 0; i < options->depfile_targets.count; i++) {
        const struct depfile_target *target = &options->depfile_targets.at[i];
        const char *name = target->quote ? escape(arena, target->name) : target->name;
        text = text ? arena_format(arena, "%s %s", text, name) : name;
    }
    return text ? text : escape(arena, default_target(plan, options));
}

const char *depfile_rule(const struct depfile *depfile, const struct plan *plan, const struct options *options)
{
    struct arena *arena = plan->arena;
    const char *rule = arena_format(arena, "%s:", targets(plan, options)), *phony = "";
    const char *const files[] = {depfile->spec, depfile->weights, depfile->plan};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = files[i] ? escape(arena, files[i]) : NULL;
        if (name)
            rule = arena_format(arena, "%s %s", rule, name);
        if (name && files[i] != depfile->spec)
            phony = arena_format(arena, "%s\n%s:\n", phony, name);
    }
    return arena_format(arena, "%s\n%s", rule, options->depfile_phony ? phony : "");
}

const char *depfile_path(const struct plan *plan, const struct options *options)
{
    if (options->depfile_path || options->dependencies)
        return options->depfile_path;
    return arena_format(plan->arena, "%s.d", default_target(plan, options));
}
