#include "leftovers.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"

/* No arena holds them: all are freed by the time that they are looked at. */
struct leftover {
    struct leftover *older;
    char path[];
};

static struct leftover *volatile newest;

/* The last one first: a folder after what it holds. */
void leftovers_remove(void)
{
    for (const struct leftover *at = newest; at; at = at->older) {
        if (unlink(at->path))
            rmdir(at->path);
    }
}

static void remove_and_die(int number)
{
    leftovers_remove();
    raise(number);                  /* it has its usual effect again: SA_RESETHAND */
}

static void watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};
    struct sigaction old, ours = {.sa_handler = remove_and_die, .sa_flags = SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &ours, NULL);
    }
    atexit(leftovers_remove);
}

char *leftover(const char *path)
{
    static bool watching;
    size_t size = strlen(path) + 1;
    struct leftover *added = sure_malloc(sizeof *added + size);
    memcpy(added->path, path, size);
    added->older = newest;
    newest = added;
    if (!watching)
        watch();
    watching = true;
    return added->path;
}
