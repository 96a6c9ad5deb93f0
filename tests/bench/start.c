/* How long programs take from start to end, in turn: what is looked at first has the same luck as what comes last.
 *
 *     start ROUNDS PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...
 *
 * prints a line of seconds for each program, one number a round, from posix_spawn to its exit. A program that fails
 * ends it all. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { MOST_PROGRAMS = 16, MOST_ROUNDS = 1000 };

static char **programs[MOST_PROGRAMS];
static double seconds[MOST_PROGRAMS][MOST_ROUNDS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double time_one(char **words)
{
    pid_t child;
    int status;
    double begun = now();
    errno = posix_spawn(&child, words[0], NULL, NULL, words, environ);
    if (errno || waitpid(child, &status, 0) < 0) {
        perror(words[0]);
        exit(1);
    }
    double time = now() - begun;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "%s fails: status %#x\n", words[0], (unsigned)status);
        exit(1);
    }
    return time;
}

/* The words of each program, with a NULL in place of the "--" behind it. */
static int split(char **words)
{
    int count = 0;
    while (*words && count < MOST_PROGRAMS) {
        programs[count++] = words;
        while (*words && strcmp(*words, "--"))
            words++;
        if (*words)
            *words++ = NULL;
    }
    return count;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[1]) : 0, count = rounds > 0 ? split(argv + 2) : 0;
    if (!count || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: start ROUNDS PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            seconds[i][round] = time_one(programs[i]);
    }
    for (int i = 0; i < count; i++) {
        for (int round = 0; round < rounds; round++)
            printf("%s%.9f", round ? " " : "", seconds[i][round]);
        putchar('\n');
    }
    return 0;
}
