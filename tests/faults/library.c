/* A library under faults: each call of the system that it makes fails in turn, and each of CUDA and cuBLASLt where it
 * is for CUDA, which a simulated device then stands for. A user initialises it, runs rows, exchanges weights, asks what
 * tools ask, and closes it. Held to:
 *   - what failed says so: its status fits, its text names the call of CUDA, and no error is left for the user to find;
 *   - what succeeds gives the rows that it gives without faults, and no failure of the device is passed over;
 *   - a run after a failed run, an init after a failed init and an exchange of weights after a failed one succeed;
 *   - after close nothing is held: blocks, files, threads, and of the device memory, streams, events, graphs, handles.
 *
 *     library FIRST.weights SECOND.weights [STEP]
 *
 * The network is net.h; its weights are in either file. STEP: every so many calls fail. Prints what does not hold. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose.h"
#include "net.h"
#ifdef NET_CUDA
#include "../gpu/simulated/faults.h"
#include "mlp_tuning.h"
#include <cuda_runtime_api.h>
#endif

enum { ROWS = 7, OWN_DEVICE = 1 };  /* the user's current device is not the network's */

static const char *first_weights, *second_weights;
static float x[ROWS * net_x_WIDTH];
static float right[2][ROWS * net_y_WIDTH];  /* with the first weights, and with the second */

/* ---- The fault at hand ---- */

static const char *kind;            /* of the system's calls, or a manner of the device's */
static long number;                 /* which call */
static int armed;                   /* or none any more */
static const char *failed_call;     /* of the device */
static int on_device;
#ifdef NET_CUDA
static simulated_manner manner;
#endif
static int passed_over;             /* it did not matter to the call that met it */
static long injected, mattered;
static int wrong;

static void __attribute__((format(printf, 1, 2))) fail(const char *format, ...)
{
    va_list arguments;
    printf("FAILED %s call %ld: ", kind, number);
    if (failed_call)
        printf("%s: ", failed_call);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" (%s)\n", net_error());
    wrong++;
}

static void arm(long which)
{
    armed = which > 0;
    fault_arm(on_device ? NULL : kind, on_device ? 0 : which);
#ifdef NET_CUDA
    simulated_fail(on_device ? which : 0, on_device ? manner : SIMULATED_ONCE);
#endif
}

static long calls_made(void)
{
#ifdef NET_CUDA
    if (on_device)
        return simulated_calls();
#endif
    return fault_calls();
}

static int has_failed(void)
{
#ifdef NET_CUDA
    failed_call = armed && on_device ? simulated_failed() : failed_call;
#endif
    return armed && calls_made() >= number;
}

/* ---- What a failure must be like ---- */

#ifdef NET_CUDA
static int is_once(void)
{
    return on_device && manner == SIMULATED_ONCE;
}

static int is_lasting(void)
{
    return on_device && (manner == SIMULATED_STICKY || manner == SIMULATED_LATE_STICKY);
}

static mlp_status status_for(const char *call)
{
    static const struct {
        const char *part;
        mlp_status status;
    } statuses[] = {{"cudaMalloc", MLP_NO_MEMORY}, {"HostAlloc", MLP_NO_MEMORY}, {"CreateWithFlags", MLP_NO_MEMORY},
                    {"Instantiate", MLP_NO_MEMORY}, {"cudaGetDeviceCount", MLP_NO_DEVICE},
                    {"cudaGetDevice", MLP_NO_DEVICE}, {"cudaSetDevice", MLP_NO_DEVICE}};
    if (strstr(call, "Properties"))
        return MLP_DEVICE_FAILED;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (strstr(call, statuses[i].part))
            return statuses[i].status;
    }
    return MLP_DEVICE_FAILED;
}

/* A kernel launch may be more than one call; some of the library's are macros over an inner function. */
static int is_named(const char *call)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "_"), call);
    return strstr(net_error(), name) || strstr(net_error(), "kernel launch");
}

static void judge_device_failure(const char *what, mlp_status status)
{
    const mlp_status expected = is_once() ? status_for(simulated_failed()) : MLP_DEVICE_FAILED;
    if (status != expected)
        fail("%s: status %d, expected %d", what, status, expected);
    if (is_once() && !is_named(simulated_failed()))
        fail("%s: the call is not named", what);
    if (!strstr(net_error(), "cuda") && !strstr(net_error(), "CUBLAS"))
        fail("%s: the error is not named", what);
    if (!is_lasting() && cudaPeekAtLastError() != cudaSuccess)
        fail("%s: the error is left for others to find", what);
}

/* A plan that was compiled in, and that the library did not confirm, is not used, and its state says so. */
static int tells_unused_plan(const char *call)
{
    mlp_device_info device;
    return strstr(call, "cublasLtMatmulAlgo") && net_model.describe(&device) == MLP_OK &&
           device.plans[MLP_PLAN_DAMAGED] + device.plans[MLP_PLAN_REFUSED] == 1;
}

/* What gives something back does so even where it tells of an error. */
static int may_be_passed_over(const char *call)
{
    return strstr(call, "Destroy") || strstr(call, "cudaFree") || tells_unused_plan(call);
}
#endif

/* Whether the scenario goes on; a failure without a fault is wrong. */
static int good(const char *what, mlp_status status)
{
    if (status == MLP_OK) {
#ifdef NET_CUDA
        if (is_once() && has_failed() && !passed_over) {
            passed_over = 1;
            if (!may_be_passed_over(failed_call))
                fail("%s: passed over", what);
        }
        if (simulated_current_device() != OWN_DEVICE)
            fail("%s: the current device is %d now", what, simulated_current_device());
#endif
        return 1;
    }
    if (!has_failed()) {
        fail("%s: status %d without a fault", what, status);
        return 0;
    }
#ifdef NET_CUDA
    if (on_device)
        judge_device_failure(what, status);
#endif
    if (!strstr(net_error(), ": "))
        fail("%s: status %d, but no text", what, status);
    return 0;
}

/* ---- The user ---- */

static int run(size_t rows, const float *expected)
{
    float y[ROWS * net_y_WIDTH];
    memset(y, 0xff, sizeof y);
    if (!good("run", net_run(rows, x, y)))
        return 0;
    if (expected && memcmp(y, expected, rows * net_y_WIDTH * sizeof *y))
        fail("%zu rows are wrong", rows);
    return 1;
}

#ifdef NET_CUDA
/* The simulated device reads and writes the host's memory. */
static int run_device(void)
{
    float y[ROWS * net_y_WIDTH];
    memset(y, 0xff, sizeof y);
    if (!good("run_device", net_run_device(ROWS, x, y, NULL)))
        return 0;
    if (cudaStreamSynchronize(NULL) != cudaSuccess) {   /* the user is told */
        cudaGetLastError();
        if (!has_failed())
            fail("the device fails without a fault");
        return 0;
    }
    if (memcmp(y, right[0], sizeof y))
        fail("rows of the device are wrong");
    return 1;
}
#endif

#ifdef NET_CUDA
static int tools_of_device(void)
{
    const mlp_model *model = &net_model;
    mlp_device_info device;
    mlp_plan_info plan;
    mlp_step_time time;
    for (size_t i = 0; i <= model->step_count; i++) {
        if ((i == model->step_count || !model->whole_only) && !good("time_step", model->time_step(i, 2, &time)))
            return 0;
    }
    for (size_t i = 0; i < model->step_count; i++) {
        if (model->steps[i].ops[0].code == MLP_OP_LINEAR && !model->whole_only &&
            !good("describe_plan", model->describe_plan(0, i, &plan)))
            return 0;
    }
    return good("describe", model->describe(&device));
}
#endif

static int tools(void)
{
    const mlp_model *model = &net_model;
    const void *inputs[] = {x};
    float y[ROWS * net_y_WIDTH];
    void *outputs[] = {y};
    if (!good("begin", model->begin(1, inputs, outputs)))
        return 0;
    for (size_t i = 0; i < model->step_count && !model->whole_only; i++) {
        if (!good("run_step", model->run_step(i)))
            return 0;
    }
    if (!good("read_weights", model->read_weights(0, 16, y)))
        return 0;
#ifdef NET_CUDA
    return tools_of_device();
#else
    return 1;
#endif
}

static int init(const char *weights)
{
    const mlp_options options = {.weights = weights};
    return good("init", net_init(&options));
}

static int load(const char *weights)
{
    return good("load_weights", net_load_weights(weights));
}

static int use(void)
{
    return init(first_weights) && run(1, right[0]) && run(ROWS, right[0]) &&
#ifdef NET_CUDA
           run_device() &&
#endif
           tools() && load(second_weights) && run(ROWS, right[1]);
}

/* ---- What comes after ---- */

static struct held before;
#ifdef NET_CUDA
static int objects_before;          /* of the device */
#endif

static void holds_nothing(const char *when)
{
    struct held held = fault_held();
    if (held.blocks != before.blocks || held.files != before.files || held.threads != before.threads || held.children)
        fail("%s: %+ld blocks, %+ld files, %+ld threads", when, held.blocks - before.blocks, held.files - before.files,
             held.threads - before.threads);
    before = held;
#ifdef NET_CUDA
    if (simulated_objects() != objects_before)
        fail("%s: %+d objects of the device", when, simulated_objects() - objects_before);
    objects_before = simulated_objects();
#endif
}

/* With the device whole again; what was loaded last may be lost, and is then said to be, but is never half there. */
static void use_again(void)
{
    float y[ROWS * net_y_WIDTH];
    mlp_status status = net_run(ROWS, x, y);
    if (status == MLP_NOT_READY)
        return;
    if (status != MLP_NO_WEIGHTS && status != MLP_OK)
        fail("a run after a failure: status %d", status);
    if (status == MLP_OK && memcmp(y, right[0], sizeof y) && memcmp(y, right[1], sizeof y))
        fail("a run after a failure is wrong");
    if (load(second_weights))
        run(ROWS, right[1]);
}

static void start_again(void)
{
    if (init(first_weights))
        run(ROWS, right[0]);
    net_close();
    holds_nothing("in the end");
}

static void try_fault(long which)
{
    number = which;
    failed_call = NULL;
    passed_over = 0;
    arm(which);
    int complete = use();
    if (complete)
        net_close();
    injected += has_failed();
    mattered += !complete;
#ifdef NET_CUDA
    if (!complete && is_lasting())
        net_close();
#endif
    arm(0);
#ifdef NET_CUDA
    if (simulated_current_device() != OWN_DEVICE && !is_lasting() &&
        (!failed_call || strcmp(failed_call, "cudaSetDevice")))
        fail("the current device is %d now", simulated_current_device());
    cudaSetDevice(OWN_DEVICE);
#endif
    if (!complete)
        use_again();
    net_close();
    holds_nothing("after close");
    start_again();
}

/* The calls of use and close. */
static long count_calls(void)
{
    arm(number = 0);
    if (!use())
        fail("no fault");
    net_close();
    return calls_made();
}

static void try_kind(const char *name, long step)
{
    kind = name;
    const long calls = count_calls();
    for (long which = 1; which <= calls; which += step)
        try_fault(which);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"memory", "open", "read", "close", "map", "stat", "thread"};
    const long step = argc > 3 ? atol(argv[3]) : 1;
    if (argc < 3 || step < 1)
        return 2;
    first_weights = argv[1];
    second_weights = argv[2];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(i % 13) / 8 - 0.5f;
    setvbuf(stdout, NULL, _IONBF, 0);
    kind = "no";
#ifdef NET_CUDA
    cudaSetDevice(OWN_DEVICE);
#endif
    if (!init(first_weights) || net_run(ROWS, x, right[0]) || !load(second_weights) || net_run(ROWS, x, right[1]))
        return 1;
    net_close();
    if (!memcmp(right[0], right[1], sizeof right[0]))
        fail("the weights make no difference");
    before = fault_held();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        try_kind(kinds[i], step);
#ifdef NET_CUDA
    on_device = 1;
    for (int i = 0; i < SIMULATED_MANNERS; i++) {
        manner = (simulated_manner)i;
        try_kind(simulated_manner_names[i], step);
    }
#endif
    printf("%ld faults, %ld of them failures, %d wrong\n", injected, mattered, wrong);
    return wrong != 0;
}
