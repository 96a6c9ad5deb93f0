/* What the modes of a generated program share: complaints and memory. */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int mlp_complain(const mlp_command *command, int status, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "%s: ", command->program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

int mlp_complain_model(const mlp_command *command, mlp_status status)
{
    const char *text = status == MLP_BUSY ? "" : command->model->error();
    int code = status == MLP_WEIGHTS_MISMATCH ? MLP_EXIT_WRONG
               : status == MLP_NO_PLAN        ? MLP_EXIT_NO_PLAN
                                              : MLP_EXIT_FAILED;
    return mlp_complain(command, code, "%s", text && *text ? text : mlp_status_text(status));
}

void *mlp_take(const mlp_command *command, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        exit(mlp_complain(command, MLP_EXIT_FAILED, "out of memory"));
    return memory;
}
