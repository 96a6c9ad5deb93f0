/* From an argument list to an outcome. The child has a process group of its own, so that a compiler's children end
 * with it; its output goes to an unnamed file, so that no pipe can fill up. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_CANNOT_RUN = 127 };

double command_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Noreturn void become(const char *folder, char *const *argv, int output)
{
    setpgid(0, 0);
    int input = open("/dev/null", O_RDONLY);
    if (input >= 0 && dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 && chdir(folder) == 0)
        execvp(argv[0], argv);
    perror(argv[0]);
    _exit(EXIT_CANNOT_RUN);
}

/* Waits until the child ends or the time is over. */
static void wait_for(pid_t child, double seconds, struct outcome *outcome)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double end = command_now() + seconds;
    int state;
    while (waitpid(child, &state, WNOHANG) == 0) {
        if (command_now() > end) {
            outcome->timed_out = true;
            kill(-child, SIGKILL);
            waitpid(child, &state, 0);
            break;
        }
        nanosleep(&pause, NULL);
    }
    outcome->status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    outcome->signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

static char *read_back(FILE *file)
{
    long size = ftell(file);
    char *text = size >= 0 ? calloc((size_t)size + 1, 1) : NULL;
    if (!text)
        abort();
    rewind(file);
    size_t got = fread(text, 1, (size_t)size, file);
    text[got] = '\0';
    return text;
}

struct outcome command_run(const char *folder, char *const *argv, double seconds)
{
    struct outcome outcome = {.status = -1};
    FILE *output = tmpfile();
    if (!output)
        abort();
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0)
        become(folder, argv, fileno(output));
    setpgid(child, child);
    wait_for(child, seconds, &outcome);
    fseek(output, 0, SEEK_END);
    outcome.text = read_back(output);
    fclose(output);
    return outcome;
}

const char *command_crash(const struct outcome *outcome)
{
    static const char *const reports[] = {"Sanitizer", "runtime error: ", "Assertion"};
    if (outcome->timed_out)
        return "took too long";
    if (outcome->signal)
        return strsignal(outcome->signal);
    if (outcome->status >= 126)
        return outcome->status > 128 ? "ended by a signal" : "cannot be run";
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (strstr(outcome->text, reports[i]))
            return "a report of a sanitizer or an assertion";
    return NULL;
}
