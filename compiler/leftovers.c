#include "leftovers.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct leftover {
    const char *path;
    struct leftover *older;
};

static struct leftover *volatile newest;

void leftovers_remove(void)
{
    for (; newest; newest = newest->older) {
        if (unlink(newest->path))
            rmdir(newest->path);
    }
}

static void remove_and_die(int number)
{
    leftovers_remove();
    raise(number);                  /* it has its usual effect again: SA_RESETHAND */
}

static void watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, ours = {.sa_handler = remove_and_die, .sa_flags = SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &ours, NULL);
    }
    atexit(leftovers_remove);
}

void leftover(struct arena *arena, const char *path)
{
    static bool watching;
    struct leftover *added = ARENA_NEW(arena, struct leftover);
    *added = (struct leftover){path, newest};
    newest = added;
    if (!watching)
        watch();
    watching = true;
}
