#include "follow_links.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the link `path` says, seen from where `path` is; NULL: it is no link, or there is no memory. */
static char *read_link(const char *path)
{
    char to[PATH_MAX], *joined = NULL;
    const ssize_t length = readlink(path, to, sizeof to - 1);
    if (length < 0)
        return NULL;
    to[length] = '\0';
    const char *slash = strrchr(path, '/');
    const int folder = *to == '/' || !slash ? 0 : (int)(slash + 1 - path);
    return asprintf(&joined, "%.*s%s", folder, path, to) < 0 ? NULL : joined;
}

char *mlp_follow_links(const char *path)
{
    enum { MOST_LINKS = 40 };       /* more are a circle */
    struct stat info;
    char *at = strdup(path), *next;
    for (int i = 0; at && i < MOST_LINKS && stat(at, &info) && (next = read_link(at)); i++) {
        free(at);
        at = next;
    }
    char *real = at ? realpath(at, NULL) : NULL;
    if (!real)
        return at;
    free(at);
    return real;
}
