/* A status, the state of a plan, and the form of a batch size, turned into words. */
#include "mlp_runtime.h"

static const char *const texts[] = {
    [MLP_OK] = "ok",
    [MLP_BUSY] = "busy: another thread is inside this network",
    [MLP_NOT_READY] = "not ready: init has not succeeded, or close was called",
    [MLP_BAD_ARGUMENT] = "bad argument: a pointer is NULL, an index is out of range, or init was called twice",
    [MLP_MISALIGNED] = "misaligned: a device pointer is not aligned to its element",
    [MLP_NO_WEIGHTS] = "no weights: none are loaded, or loading them has failed",
    [MLP_WEIGHTS_UNREADABLE] = "weights unreadable: the file cannot be opened or read",
    [MLP_WEIGHTS_MISMATCH] = "weights mismatch: damaged, packed for another network, or not packed weights",
    [MLP_NO_MEMORY] = "no memory: host or device memory ran out",
    [MLP_NO_DEVICE] = "no device: no such GPU, or no driver",
    [MLP_WRONG_DEVICE] = "wrong device: there is no code for this GPU",
    [MLP_NO_THREADS] = "no threads: the system starts no more of them",
    [MLP_WRONG_CPU] = "wrong processor: there is no code for this one",
    [MLP_WRONG_LIBRARY] = "wrong library: cuBLASLt is not of the major version that the network was built with",
    [MLP_NO_PLAN] = "no plan: a product has no plan that works on this device",
    [MLP_DEVICE_FAILED] = "device failed: a CUDA or cuBLASLt call failed",
};

const char *mlp_status_text(mlp_status status)
{
    if ((size_t)status >= sizeof texts / sizeof *texts)
        return "unknown status";
    return texts[status];
}

const char *mlp_plan_state_text(mlp_plan_state state)
{
    static const char *const states[MLP_PLAN_STATES] = {
        [MLP_PLAN_HEURISTIC] = "missing: none was compiled in",
        [MLP_PLAN_LOCKED] = "locked",
        [MLP_PLAN_FOREIGN] = "foreign: tuned on another kind of device",
        [MLP_PLAN_STALE] = "stale: tuned with another version of cuBLASLt",
        [MLP_PLAN_DAMAGED] = "damaged: its attributes do not give its bytes",
        [MLP_PLAN_REFUSED] = "refused: cuBLASLt does not take it for this product",
    };
    return (size_t)state < MLP_PLAN_STATES ? states[state] : "unknown";
}

const char *mlp_form_text(mlp_form form)
{
    static const char *const forms[MLP_FORMS] = {
        [MLP_FORM_STEPS] = "steps", [MLP_FORM_ROWS] = "rows", [MLP_FORM_FEW] = "few"};
    return (size_t)form < MLP_FORMS ? forms[form] : "unknown";
}
