/* What the modes of a generated program share: complaints and memory. */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "plain_text.h"

int mlp_complain(const mlp_command *command, int status, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    mlp_print_plain(stderr, command->program);
    fputs(": ", stderr);
    mlp_print_plain(stderr, length < 0 ? "out of memory for a message" : text);
    fputc('\n', stderr);
    if (length >= 0)
        free(text);
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
