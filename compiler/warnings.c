#include "warnings.h"

#include <string.h>

#include "nearest.h"

static const char *const names[DIAG_COUNT] = {      /* NULL: an error */
#define DIAG(name, slug)
#define WARN(name, slug, usual) [DIAG_##name] = slug,
#include "diag.def"
};

static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

static int find_name(const char *name)
{
    for (int i = 0; i < DIAG_COUNT; i++) {
        if (names[i] && !strcmp(names[i], name))
            return i;
    }
    return -1;
}

static const char *unknown(struct arena *arena, const char *text, const char *name)
{
    struct nearest nearest = nearest_to(name);
    for (int i = 0; i < DIAG_COUNT; i++) {
        if (names[i])
            nearest_offer(&nearest, names[i]);
    }
    if (name == text) {             /* what stands behind no-, error= and no-error= is one warning */
        nearest_offer(&nearest, "all");
        nearest_offer(&nearest, "error");
    }
    return arena_format(arena, "-W%s: there is no warning '%s'%s", text, name, nearest_text(arena, &nearest));
}

/* As in gcc, what is to be an error is also shown. */
const char *warnings_set(struct diag_options *options, struct arena *arena, const char *text)
{
    const char *denied = after(text, "no-"), *what = denied ? denied : text, *error = after(what, "error=");
    const signed char value = denied ? -1 : 1;
    if (!strcmp(what, "all")) {
        options->all = value;
        return NULL;
    }
    if (!strcmp(what, "error")) {
        options->warnings_are_errors = !denied;
        return NULL;
    }
    int i = find_name(error ? error : what);
    if (i < 0)
        return unknown(arena, text, error ? error : what);
    if (error)
        options->fatal[i] = value;
    if (!error || !denied)
        options->shown[i] = value;
    return NULL;
}
