/* Who is inside a network, and what its last failing call has to say. */
#include "mlp_network.h"

#include <stdarg.h>
#include <stdio.h>

/* A thread that finds the network taken leaves no text: the text belongs to the thread inside. */
mlp_status mlp_enter_any(mlp_network *network)
{
    int idle = 0;
    if (!__atomic_compare_exchange_n(&network->busy, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return MLP_BUSY;
    return MLP_OK;
}

mlp_status mlp_enter(mlp_network *network)
{
    mlp_status status = mlp_enter_any(network);
    if (status == MLP_OK && !network->ready) {
        status = mlp_fail(network, MLP_NOT_READY, NULL);
        mlp_leave(network);
    }
    return status;
}

mlp_status mlp_enter_init(mlp_network *network)
{
    mlp_status status = mlp_enter_any(network);
    if (status == MLP_OK && network->ready) {
        status = mlp_fail(network, MLP_BAD_ARGUMENT, "init was called twice without close");
        mlp_leave(network);
    }
    return status;
}

void mlp_leave(mlp_network *network)
{
    __atomic_store_n(&network->busy, 0, __ATOMIC_RELEASE);
}

mlp_status mlp_fail(mlp_network *network, mlp_status status, const char *format, ...)
{
    size_t room = sizeof network->error;
    int length = snprintf(network->error, room, "%s%s", mlp_status_text(status), format ? ": " : "");
    if (format && length >= 0 && (size_t)length < room) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(network->error + length, room - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return status;
}
