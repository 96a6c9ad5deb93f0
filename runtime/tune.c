/* --tune FILE: searches the fastest plan for every product on this device, and keeps what it finds in the plan file,
 * beside what is there. The file is written whole after each product, so that nothing is lost when the tuner stops.
 *
 * The search runs in a child process. An algorithm that the library accepts may hang, and then only the end of its
 * process frees the device: the child tells which one it was and ends, and another child goes on without it. */
#include "command.h"
#include "mlp_tuning.h"
#include "open_file.h"
#include "staged_file.h"
#include "timing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const double default_seconds = 60, least_seconds = 1;

enum {
    EXIT_INTERRUPTED = 130,         /* as shells report a program that Ctrl-C ended */
    EXIT_HUNG = 99,                 /* of a child */
    MOST_HUNG = 64,
};

/* What a child tells its parent. */
struct message {
    int hung;                       /* or: a product is done, */
    int gave_up;                    /* or its plan was given up for the first choice */
    int kept_first;
    mlp_hung which;
};

struct tune {
    const mlp_command *command;
    double end;                     /* in mlp_seconds() */
    size_t done, kept;              /* products so far, and of these how many kept the first choice */
    mlp_hung hung[MOST_HUNG];
    size_t hung_count;
    /* in a child */
    mlp_plan_file plans;
    int pipe;                       /* to the parent */
    int failed;                     /* an exit status, where the file could not be written */
};

/* ---- The plan file ---- */

/* The whole file, or NULL; *length bytes. */
static char *read_all(FILE *file, size_t *length)
{
    size_t capacity = 65536, count;
    char *text = malloc(capacity);
    *length = 0;
    while (text && (count = fread(text + *length, 1, capacity - *length, file)) > 0) {
        *length += count;
        if (*length < capacity)
            continue;
        char *larger = realloc(text, capacity *= 2);
        if (!larger)
            free(text);
        text = larger;
    }
    return text;
}

static int parse(const struct tune *tune, const char *text, size_t length, mlp_plan_file *plans)
{
    mlp_plan_error error;
    if (mlp_plan_file_parse(text, length, plans, &error))
        return MLP_EXIT_DONE;
    return mlp_complain(tune->command, error.line ? MLP_EXIT_WRONG : MLP_EXIT_FAILED, "%s:%zu: %s",
                        tune->command->plan, error.line, error.text);
}

/* Before a search that takes minutes: that its results can be written. */
static int check_folder(const struct tune *tune)
{
    const char *path = tune->command->plan, *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
    int code = MLP_EXIT_DONE;
    if (!folder)
        code = mlp_complain(tune->command, MLP_EXIT_FAILED, "out of memory");
    else if (access(folder, W_OK | X_OK))
        code = mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot write '%s': %s", path, strerror(errno));
    free(folder);
    return code;
}

/* A device or a pipe may have no end. */
static int is_regular(FILE *file)
{
    struct stat status;
    return !fstat(fileno(file), &status) && S_ISREG(status.st_mode);
}

/* A file that is not there yet holds no plans. */
static int read_plans(const struct tune *tune, mlp_plan_file *plans)
{
    const char *path = tune->command->plan;
    size_t length = 0;
    FILE *file = mlp_open_file(path);
    if (!file && errno == ENOENT)
        return check_folder(tune);
    if (file && !is_regular(file)) {
        fclose(file);
        return mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot read '%s': it is not a regular file", path);
    }
    if (!file)
        return mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot read '%s': %s", path, strerror(errno));
    char *text = read_all(file, &length);
    int code = !text || ferror(file)
                   ? mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot read '%s': %s", path, strerror(errno))
                   : parse(tune, text, length, plans);
    fclose(file);
    free(text);
    return code == MLP_EXIT_DONE ? check_folder(tune) : code;
}

static int write_plans(const struct tune *tune, const mlp_plan_file *plans)
{
    size_t length;
    mlp_staged_file file;
    char *text = mlp_plan_file_print(plans, &length);
    if (!text)
        return mlp_complain(tune->command, MLP_EXIT_FAILED, "out of memory");
    int good = mlp_staged_write(&file, tune->command->plan, text, length, "", 0) && mlp_staged_commit(&file);
    int code = good ? MLP_EXIT_DONE
                    : mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot write '%s': %s", tune->command->plan,
                                   file.error);
    mlp_staged_discard(&file);
    free(text);
    return code;
}

/* What was found, a product's plan or a form or nothing (NULL), joins what is in the file by now: another tuner, on
 * another device say, may have written there in the meantime. */
static int store(struct tune *tune, const mlp_plan_entry *entry, const mlp_form_entry *form)
{
    mlp_plan_file plans = {0};
    int code = read_plans(tune, &plans);
    if (code == MLP_EXIT_DONE && ((entry && !mlp_plan_file_add(&plans, entry)) ||
                                  (form && !mlp_plan_file_add_form(&plans, form))))
        code = mlp_complain(tune->command, MLP_EXIT_FAILED, "out of memory, or a name that no plan file can hold");
    if (code == MLP_EXIT_DONE)
        code = write_plans(tune, &plans);
    if (code == MLP_EXIT_DONE) {
        mlp_plan_file before = tune->plans;
        tune->plans = plans;
        plans = before;
    }
    mlp_plan_file_free(&plans);
    return code;
}

/* ---- What is shown ---- */

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static void show_progress(void *context, const mlp_tuning_progress *progress)
{
    (void)context;
    if (!isatty(STDERR_FILENO))
        return;
    clear_progress();
    fprintf(stderr, "product %zu of %zu: %s, %zu rows: %zu algorithms, %.2f us, first choice %.2f us; %.0f s left",
            progress->product, progress->products, progress->step, progress->rows, progress->timed, progress->best,
            progress->first, progress->seconds_left);
}

static const char *verdict(const mlp_tuned *tuned)
{
    if (tuned->none)
        return "no plan";
    return tuned->kept_first ? "first choice" : tuned->entry.apart ? "apart" : "";
}

static void print_tuned(const mlp_tuned *tuned)
{
    const mlp_plan_times *times = &tuned->entry.times;
    printf("%-24.24s %8zu %10.2f %10.2f %10.2f %10.2f %10.2f %8zu %8zu  %s\n", tuned->step, tuned->rows,
           times->first_warm, times->listed_warm, times->warm, times->first_cold, times->cold, tuned->timed,
           tuned->refused, verdict(tuned));
    if (*tuned->why)
        printf("%24s the last that was refused %s\n", "", tuned->why);
    fflush(stdout);
}

/* ---- In the child ---- */

static int send(const struct tune *tune, const struct message *message)
{
    return write(tune->pipe, message, sizeof *message) == (ssize_t)sizeof *message;
}

static int keep(void *context, const mlp_tuned *tuned)
{
    struct tune *tune = context;
    const struct message message = {.kept_first = tuned->kept_first || tuned->none};
    clear_progress();
    tune->failed = store(tune, tuned->none ? NULL : &tuned->entry, NULL);
    if (tune->failed)
        return tune->failed;
    print_tuned(tuned);
    if (!send(tune, &message))
        tune->failed = mlp_complain(tune->command, MLP_EXIT_FAILED, "the parent process is gone");
    return tune->failed;
}

static int give_up(void *context, const mlp_plan_entry *entry, const char *step, size_t rows)
{
    struct tune *tune = context;
    const struct message message = {.gave_up = 1};
    clear_progress();
    tune->failed = store(tune, entry, NULL);
    if (tune->failed)
        return tune->failed;
    printf("%-24.24s %8zu  back to the first choice: the whole network is faster with it\n", step, rows);
    fflush(stdout);
    if (!send(tune, &message))
        tune->failed = mlp_complain(tune->command, MLP_EXIT_FAILED, "the parent process is gone");
    return tune->failed;
}

/* Forms are few and quickly measured: a child that starts over measures them again. */
static int keep_form(void *context, const mlp_form_entry *entry, size_t rows)
{
    struct tune *tune = context;
    clear_progress();
    tune->failed = store(tune, NULL, entry);
    for (int form = 0; form < MLP_FORMS && !tune->failed; form++) {
        if (entry->microseconds[form] > 0)
            printf("the whole network %15zu rows: %s %.2f us%s\n", rows, mlp_form_text((mlp_form)form),
                   entry->microseconds[form], form == (int)entry->form ? ", the fastest" : "");
    }
    fflush(stdout);
    return tune->failed;
}

static void hung(void *context, const mlp_hung *which)
{
    const struct message message = {.hung = 1, .which = *which};
    send(context, &message);
    clear_progress();
    _exit(EXIT_HUNG);
}

static volatile int stop;

static void interrupted(int number)
{
    (void)number;
    stop = 1;
}

static void on_interrupt(void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int search(struct tune *tune)
{
    const mlp_command *command = tune->command;
    const double left = tune->end - mlp_seconds();
    const mlp_tuning tuning = {.seconds = left > least_seconds ? left : least_seconds, .stop = &stop,
                               .forms_only = command->forms, .plans = &tune->plans, .progress = show_progress,
                               .tuned = keep, .gave_up = give_up, .formed = keep_form, .hung = hung,
                               .all_hung = tune->hung, .hung_count = tune->hung_count, .done = tune->done,
                               .context = tune};
    mlp_status status = command->model->tune(&tuning);
    clear_progress();
    if (tune->failed || status == MLP_OK)
        return tune->failed;
    return mlp_complain_model(command, status);
}

static int tune_here(struct tune *tune)
{
    mlp_command command = *tune->command;
    command.options.locked = -1;    /* the plans that are compiled in may be of no use here */
    tune->command = &command;
    int code = read_plans(tune, &tune->plans);
    if (code == MLP_EXIT_DONE)
        code = mlp_open_network(&command);
    if (code == MLP_EXIT_DONE)
        code = search(tune);
    command.model->close();
    mlp_plan_file_free(&tune->plans);
    return code == MLP_EXIT_DONE && stop ? EXIT_INTERRUPTED : code;
}

/* ---- In the parent ---- */

static volatile pid_t child;

static void pass_on(int number)
{
    stop = 1;
    if (child > 0)
        kill(child, number);
}

static void take(struct tune *tune, const struct message *message)
{
    if (message->gave_up) {
        tune->kept++;
    } else if (!message->hung) {
        tune->done++;
        tune->kept += message->kept_first != 0;
    } else if (tune->hung_count < MOST_HUNG) {
        const mlp_algorithm *a = &message->which.algorithm;
        tune->hung[tune->hung_count++] = message->which;
        mlp_complain(tune->command, 0, "note: an algorithm hangs, and is left out: %s: id %d, tile %u, stages %u, "
                     "split %u, swizzle %u, custom %u, cluster %u", message->which.product, a->id, a->tile, a->stages,
                     a->split_k, a->swizzle, a->custom, a->cluster);
    }
}

static void listen(struct tune *tune, int from)
{
    struct message message;
    ssize_t count;
    while ((count = read(from, &message, sizeof message)) != 0) {
        if (count == (ssize_t)sizeof message)
            take(tune, &message);
        else if (count > 0 || errno != EINTR)
            break;
    }
}

/* The exit status of one child. */
static int run_child(struct tune *tune)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends))
        return mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (child < 0) {
        mlp_complain(tune->command, MLP_EXIT_FAILED, "cannot start a process: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return MLP_EXIT_FAILED;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);       /* nobody would be left to take what it finds */
        close(ends[0]);
        on_interrupt(interrupted);
        tune->pipe = ends[1];
        exit(tune_here(tune));
    }
    close(ends[1]);
    listen(tune, ends[0]);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return mlp_complain(tune->command, MLP_EXIT_FAILED, "the search ended by signal %d", WTERMSIG(status));
}

static int summary(const struct tune *tune)
{
    if (!tune->command->forms)
        printf("%zu products, %zu of them faster than cuBLASLt's first choice; plans in %s\n", tune->done,
               tune->done - tune->kept, tune->command->plan);
    if (stop)
        return mlp_complain(tune->command, EXIT_INTERRUPTED, "interrupted: later products keep the plans they had");
    return MLP_EXIT_DONE;
}

int mlp_tune(const mlp_command *command)
{
    struct tune tune = {.command = command};
    int code;
    if (!command->model->tune)
        return mlp_complain(command, MLP_EXIT_USAGE, "--tune: there is nothing to tune in this program%s",
                            command->model->target == MLP_CPU ? ", it runs on the CPU" : ", it has no products");
    tune.end = mlp_seconds() + (command->seconds ? (double)command->seconds : default_seconds);
    on_interrupt(pass_on);
    if (!command->forms)
        printf("%-24s %8s %10s %10s %10s %10s %10s %8s %8s\n", "microseconds", "rows", "first", "listed", "best",
           "first cold", "best cold", "timed", "refused");
    do {
        code = run_child(&tune);
    } while (code == EXIT_HUNG && tune.hung_count < MOST_HUNG && !stop);
    if (code == EXIT_HUNG)
        return mlp_complain(command, MLP_EXIT_FAILED, "too many algorithms hang on this device");
    return code == MLP_EXIT_DONE || code == EXIT_INTERRUPTED ? summary(&tune) : code;
}
