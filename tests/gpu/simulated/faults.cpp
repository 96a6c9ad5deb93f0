#include "faults.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "simulated.h"

/* The device's memory is not the program's: it comes from below malloc, which tests let fail. */
extern "C" void *__libc_malloc(size_t bytes);
extern "C" void __libc_free(void *block);

void *operator new(size_t bytes) { return __libc_malloc(bytes); }
void operator delete(void *block) noexcept { __libc_free(block); }
void operator delete(void *block, size_t) noexcept { __libc_free(block); }

const char *const simulated_manner_names[] = {"once", "sticky", "late", "late-sticky"};

/* ---- The one that fails ---- */

static long at, calls, used_after;
static simulated_manner manner;
static const char *failed;
static cudaError_t last;            /* as cudaGetLastError has it */
static cudaError_t pending, broken; /* what the next wait is told; what every call is */

static bool is_late() { return manner == SIMULATED_LATE || manner == SIMULATED_LATE_STICKY; }

static bool is_of_close(const char *name)
{
    return strstr(name, "Destroy") || strstr(name, "cudaFree") || strstr(name, "Synchronize");
}

static bool its_turn(const char *name)
{
    used_after += failed && !is_of_close(name);
    if (++calls != at)
        return false;
    failed = name;
    return true;
}

cudaError_t simulated_result(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}

cudaError_t simulated_call(const char *name, cudaError_t error)
{
    if (broken)
        return broken;
    if (is_late() || !its_turn(name))
        return cudaSuccess;
    if (manner == SIMULATED_STICKY)
        error = broken = cudaErrorLaunchFailure;
    return simulated_result(error);
}

cublasStatus_t simulated_library_call(const char *name, bool on_device)
{
    if (broken)
        return on_device ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
    if (is_late() || !its_turn(name))
        return CUBLAS_STATUS_SUCCESS;
    if (manner == SIMULATED_STICKY)
        broken = cudaErrorLaunchFailure;
    last = cudaErrorLaunchFailure;
    return CUBLAS_STATUS_INTERNAL_ERROR;
}

bool simulated_work_fails(const char *name)
{
    if (broken || pending)
        return true;
    if (!is_late() || !its_turn(name))
        return false;
    pending = cudaErrorLaunchFailure;
    return true;
}

cudaError_t simulated_waited()
{
    const cudaError_t told = pending;
    pending = cudaSuccess;
    if (manner == SIMULATED_LATE_STICKY && told)
        broken = told;
    return simulated_result(broken ? broken : told);
}

cudaError_t simulated_last(bool forget)
{
    const cudaError_t told = broken ? broken : last;
    if (forget)
        last = cudaSuccess;
    return told;
}

void simulated_fail(long which, simulated_manner how)
{
    at = which;
    manner = how;
    calls = used_after = 0;
    failed = nullptr;
    last = pending = broken = cudaSuccess;
}

long simulated_calls(void) { return calls; }
const char *simulated_failed(void) { return failed; }

/* ---- Told by the environment ---- */

static void obey(const char *text)
{
    char name[16];
    long which;
    for (int i = 0; sscanf(text, "%ld %15s", &which, name) == 2 && i < SIMULATED_MANNERS; i++) {
        if (!strcmp(name, simulated_manner_names[i]))
            return simulated_fail(which, simulated_manner(i));
    }
    fprintf(stderr, "simulated device: MLP_SIMULATED_FAIL: '%s'\n", text);
    abort();
}

static struct environment {
    environment()
    {
        if (const char *text = getenv("MLP_SIMULATED_FAIL"))
            obey(text);
    }

    ~environment()
    {
        const char *path = calls ? getenv("MLP_SIMULATED_CALLS") : nullptr;
        FILE *file = path ? fopen(path, "w") : nullptr;
        if (file) {
            fprintf(file, "%ld %s %ld\n", calls, failed ? failed : "-", used_after);
            fclose(file);
        }
    }
} told_by_environment;
