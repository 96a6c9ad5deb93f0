/* Runs a program in a folder, with a time limit, and keeps what it says. */
#ifndef TESTS_COMMAND_H
#define TESTS_COMMAND_H

#include <stdbool.h>

struct outcome {
    int status;                     /* exit status, or -1 */
    int signal;                     /* the signal that ended it, or 0 */
    bool timed_out;
    char *text;                     /* standard output and standard error together; free it */
};

/* The process group is killed after `seconds`. argv[0] is looked up in PATH; standard input is empty. */
struct outcome command_run(const char *folder, char *const *argv, double seconds);

/* A crash, a time-out or a sanitizer's report, which are wrong whatever was expected; NULL if there is none. */
const char *command_crash(const struct outcome *outcome);

double command_now(void);           /* seconds, from some fixed point */

#endif
