/* main() of every generated program. */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standard_files.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Said before a mode prints anything; a library may still load its weights after init. */
static int weights_forgotten(const mlp_command *command)
{
    const mlp_model *model = command->model;
    return model->weights_bytes && !model->weights_embedded && !command->options.weights;
}

/* A plan that was compiled in and is not used is never passed over in silence. */
static int tell_unused_plans(const mlp_command *command)
{
    mlp_device_info device;
    if (!command->model->describe)
        return MLP_EXIT_DONE;
    mlp_status status = command->model->describe(&device);
    if (status != MLP_OK)
        return mlp_complain_model(command, status);
    for (int state = MLP_PLAN_LOCKED + 1; state < MLP_PLAN_STATES; state++) {
        if (device.plans[state])
            mlp_complain(command, 0, "note: %zu of %zu plans not used, cuBLASLt's first choice instead: %s",
                         device.plans[state], device.products, mlp_plan_state_text((mlp_plan_state)state));
    }
    return MLP_EXIT_DONE;
}

int mlp_open_network(const mlp_command *command)
{
    if (weights_forgotten(command))
        return mlp_complain(command, MLP_EXIT_FAILED,
                            "no weights: give --weights FILE (a packed file; mlpc --weights=external makes one)");
    mlp_status status = command->model->init(&command->options);
    if (status != MLP_OK)
        return mlp_complain_model(command, status);
    return command->options.locked >= 0 ? tell_unused_plans(command) : MLP_EXIT_DONE;
}

static int with_network(const mlp_command *command, int (*mode)(const mlp_command *))
{
    int code = mlp_open_network(command);
    if (code == MLP_EXIT_DONE)
        code = mode(command);
    command->model->close();
    return code;
}

static int dispatch(const mlp_command *command)
{
    switch (command->mode) {
    case MLP_MODE_HELP:
        mlp_options_help(command);
        return MLP_EXIT_DONE;
    case MLP_MODE_VERSION:
        printf("%s, made from %s; runtime %d\n", command->model->name, command->model->spec, MLP_RUNTIME_VERSION);
        return MLP_EXIT_DONE;
    case MLP_MODE_INFO:
        return mlp_info(command);
    case MLP_MODE_VERIFY:
        return with_network(command, mlp_verify);
    case MLP_MODE_BENCH:
        return with_network(command, mlp_bench);
    case MLP_MODE_PROFILE:
        return with_network(command, mlp_profile);
    case MLP_MODE_TUNE:
        return mlp_tune(command);
    case MLP_MODE_RUN:
        break;
    }
    return with_network(command, mlp_run_files);
}

int mlp_program(int argc, char **argv, const mlp_model *model)
{
    mlp_hold_standard_files();
    signal(SIGXFSZ, SIG_IGN);       /* a write beyond `ulimit -f` fails like any other */
    mlp_command command = {.program = argc > 0 ? file_name(argv[0]) : model->name, .model = model};
    if (model->version != MLP_RUNTIME_VERSION)
        return mlp_complain(&command, MLP_EXIT_FAILED, "made for runtime %d, this is %d", model->version,
                            MLP_RUNTIME_VERSION);
    int code = mlp_options_parse(&command, argc, argv);
    if (code == MLP_EXIT_DONE)
        code = dispatch(&command);
    if (fflush(stdout) || ferror(stdout))
        code = mlp_complain(&command, MLP_EXIT_FAILED, "standard output cannot be written");
    if (code == MLP_EXIT_DONE && ferror(stderr))
        code = MLP_EXIT_FAILED;     /* a note that nobody sees */
    free(command.inputs);
    free(command.outputs);
    return code;
}
