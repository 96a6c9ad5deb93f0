/* A contender that measures on demand:
 *
 *     PEER THREADS INPUTS OUTPUTS [ARGUMENT...]
 *
 * reads commands from standard input and answers each with one line, "ok" and a number, or "error" and words:
 *
 *     check ROWS INPUT OUTPUT     runs the rows of a file of floats, and writes the result as floats
 *     burst COUNT                 seconds of a run: the mean of COUNT in a row on the rows of the last check, after
 *                                 some that bring the weights back into the caches */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_PART = 8 };

static struct peer_network network;
static size_t rows;
static float *x, *y;

static void answer(const char *failure)
{
    if (failure)
        printf("error %s\n", failure);
    else
        puts("ok");
}

/* Every byte of the result is set before, so that what is not written shows: it is no number. */
static const char *check(size_t count, const char *from, const char *to)
{
    free(x);
    free(y);
    rows = count;
    x = peer_read(from, rows * network.inputs);
    y = peer_floats(rows * network.outputs);
    if (!x || !y)
        return "cannot read the rows";
    memset(y, 0xff, rows * network.outputs * sizeof *y);
    const char *failure = peer_run(rows, x, y);
    if (!failure && peer_write(to, y, rows * network.outputs))
        failure = "cannot write the result";
    return failure;
}

static const char *run_some(size_t count)
{
    const char *failure = NULL;
    for (size_t i = 0; i < count && !failure; i++)
        failure = peer_run(rows, x, y);
    return failure;
}

static void burst(size_t count)
{
    const char *failure = run_some(1 + count / WARM_UP_PART);
    double begun = peer_seconds();
    if (!failure)
        failure = run_some(count);
    double time = peer_seconds() - begun;
    if (failure)
        answer(failure);
    else
        printf("ok %.9g\n", time / (double)count);
}

static void obey(const char *line)
{
    char from[1001], to[1001];
    size_t count;
    if (sscanf(line, "check %zu %1000s %1000s", &count, from, to) == 3)
        answer(check(count, from, to));
    else if (sscanf(line, "burst %zu", &count) == 1 && count && x)
        burst(count);
    else
        answer("no such command");
}

int main(int argc, char **argv)
{
    static char line[2100];
    if (argc < 4) {
        fprintf(stderr, "usage: %s THREADS INPUTS OUTPUTS [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    network = (struct peer_network){atoi(argv[1]), strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), argv + 4};
    answer(peer_open(&network));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        obey(line);
        fflush(stdout);
    }
    return 0;
}
