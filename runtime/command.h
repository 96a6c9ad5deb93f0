/* The command line of a generated program, and what its modes share. */
#ifndef MLP_COMMAND_H
#define MLP_COMMAND_H

#include "mlp_runtime.h"

enum mlp_exit {
    MLP_EXIT_DONE = 0,
    MLP_EXIT_WRONG = 1,             /* what the user's files hold is wrong, or --verify found a difference */
    MLP_EXIT_USAGE = 2,             /* the command line is wrong */
    MLP_EXIT_FAILED = 3,            /* the environment failed: a file, the disk, the device, memory */
    MLP_EXIT_NO_PLAN = 4            /* a product has no plan */
};

typedef enum mlp_mode {
    MLP_MODE_RUN, MLP_MODE_INFO, MLP_MODE_VERIFY, MLP_MODE_BENCH, MLP_MODE_PROFILE, MLP_MODE_TUNE, MLP_MODE_HELP,
    MLP_MODE_VERSION
} mlp_mode;

typedef struct mlp_command {
    const char *program;            /* its name, as messages begin */
    const mlp_model *model;
    mlp_mode mode;
    const char **inputs, **outputs; /* the file of each port, or NULL */
    size_t batch;                   /* --batch, or 0 */
    int json;
    const char *plan;               /* --tune */
    size_t seconds;                 /* --seconds, or 0 */
    int forms;                      /* --forms */
    mlp_options options;
} mlp_command;

/* command.c */
/* Prints one line, "program: text", on standard error, and nothing that could steer a terminal; returns `status`. */
int mlp_complain(const mlp_command *command, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says why a call into the network failed, and returns the exit status for it. */
int mlp_complain_model(const mlp_command *command, mlp_status status);
/* count * size zeroed bytes, at least one; ends the program when there is no memory. */
void *mlp_take(const mlp_command *command, size_t count, size_t size);

/* options.c: fills everything but `program` and `model`, whose port arrays it takes; or complains. */
int mlp_options_parse(mlp_command *command, int argc, char **argv);
void mlp_options_help(const mlp_command *command);

/* program.c: makes the network ready, or says why not; notes plans that are not used. Returns the exit status. */
int mlp_open_network(const mlp_command *command);

/* One file each: the modes. Each returns the exit status; the network is ready for all but info and tune. */
int mlp_run_files(const mlp_command *command);
int mlp_info(const mlp_command *command);
int mlp_verify(const mlp_command *command);
int mlp_bench(const mlp_command *command);
int mlp_profile(const mlp_command *command);
int mlp_tune(const mlp_command *command);

#endif
