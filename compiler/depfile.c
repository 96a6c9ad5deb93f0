#include "depfile.h"

#include <string.h>

/* Where a name stands in a rule; AS_PHONY: as a target that is the prerequisite of another one. Whether it is the first
 * of its kind counts, too: make takes a line or what follows the colon for an assignment where there is an equals sign
 * in the first word. */
enum role { AS_TARGET, AS_PREREQUISITE, AS_PHONY };

/* As make reads it, and mostly gcc writes it: `$` doubled; blanks, `#` and `:` behind a backslash, as are `%` in
 * targets, `|` in prerequisites, and what make would look for files with, except in targets, which may not be there
 * yet: then make keeps the backslash. A backslash stands for itself, but where one of them follows. None helps against
 * an equals sign or a user's name behind `~`. */
static const char *escape(struct arena *arena, const char *path, enum role role, bool first)
{
    static const char equals[] = "$(subst ,=,)";
    static const char *const specials[] = {" \t#:%", " \t#:|*?[", " \t#:%*?["};
    const char *special = specials[role];
    char *out = arena_array(arena, sizeof equals * strlen(path) + 3, 1), *to = out;
    size_t slashes = 0;             /* just before */
    if (*path == '~')
        to = stpcpy(to, "./");
    for (; *path; path++) {
        if (strchr(special, *path)) {
            memset(to, '\\', slashes + 1);
            to += slashes + 1;
        } else if (*path == '$') {
            *to++ = '$';
        }
        slashes = *path == '\\' ? slashes + 1 : 0;
        if (*path == '=' && first)
            to = stpcpy(to, equals);
        else
            *to++ = *path;
    }
    return out;
}

/* Whether make can be told this name at all; false after a message. */
static bool can_say(struct diags *diags, const char *name, enum role role)
{
    const size_t length = strlen(name);
    const char last = length ? name[length - 1] : '\0', *what = NULL;
    if (strchr(name, '\n') || strchr(name, '\r'))
        what = "a line break in it";
    else if (strchr(name, ';'))
        what = "a semicolon in it";
    else if (strchr(" \t\\", last))
        what = "a blank or a backslash at its end";
    else if (role == AS_TARGET && strchr(name, '\t'))
        what = "a tab in it for a target";
    else if (role == AS_TARGET && last == '&')
        what = "a '&' at its end";
    else if (role == AS_PREREQUISITE && last == ')' && strchr(name, '('))
        what = "parentheses at its end (they mean a member of an archive)";
    if (what)
        diag_command_line(diags, "no rule for make can name '%s': there is no way of writing a name with %s", name,
                          what);
    return !what;
}

/* What the rule is for, unless -MT or -MQ say otherwise: the program, the library, or the C source. */
static const char *default_target(const struct plan *plan, const struct options *options)
{
    const char *folder = options->output ? options->output : ".";
    if (options->mode == MODE_PROGRAM)
        return options->output ? options->output : plan->name;
    return arena_format(plan->arena, options->mode == MODE_LIBRARY ? "%s/lib%s.a" : "%s/%s.c", folder, plan->prefix);
}

/* NULL after a message. */
static const char *targets(const struct plan *plan, const struct options *options, struct diags *diags)
{
    struct arena *arena = plan->arena;
    const struct depfile_target usual = {.name = default_target(plan, options), .quote = true};
    const size_t told = options->depfile_targets.count;
    const char *text = NULL;
    for (size_t i = 0; i < told || !text; i++) {
        const struct depfile_target *target = told ? &options->depfile_targets.at[i] : &usual;
        if (target->quote && !can_say(diags, target->name, AS_TARGET))
            return NULL;
        const char *name = target->quote ? escape(arena, target->name, AS_TARGET, !text) : target->name;
        text = text ? arena_format(arena, "%s %s", text, name) : name;
    }
    return text;
}

const char *depfile_rule(const struct depfile *depfile, const struct plan *plan, const struct options *options,
                         struct diags *diags)
{
    struct arena *arena = plan->arena;
    const char *rule = targets(plan, options, diags), *phony = "";
    const char *const files[] = {depfile->spec, depfile->weights, depfile->plan};
    bool first = true;
    rule = rule ? arena_format(arena, "%s:", rule) : NULL;
    for (size_t i = 0; rule && i < sizeof files / sizeof *files; i++) {
        if (!files[i])
            continue;
        if (!can_say(diags, files[i], AS_PREREQUISITE))
            return NULL;
        rule = arena_format(arena, "%s %s", rule, escape(arena, files[i], AS_PREREQUISITE, first));
        if (files[i] != depfile->spec)
            phony = arena_format(arena, "%s\n%s:\n", phony, escape(arena, files[i], AS_PHONY, true));
        first = false;
    }
    return rule ? arena_format(arena, "%s\n%s", rule, options->depfile_phony ? phony : "") : NULL;
}

const char *depfile_path(const struct plan *plan, const struct options *options)
{
    if (options->depfile_path || options->dependencies)
        return options->depfile_path;
    return arena_format(plan->arena, "%s.d", default_target(plan, options));
}
