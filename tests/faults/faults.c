/* Makes every call of a kind fail in turn, of mlpc and of a program that it made, and holds what comes of it to what is
 * promised: exit status 3 with a message, no output or the earlier one, nothing left behind, no crash. A call may also
 * not matter; then the output must be what it is without faults. And ends them by signals at calls: each output is the
 * earlier one or the new one, whole, and the next run is not disturbed; after SIGTERM, mlpc leaves nothing behind.
 *
 * When they end, every file is closed, every child has been waited for, and a program has freed all its memory, unless
 * that ran out. (mlpc keeps its own in an arena until it ends.)
 *
 *     faults BUILD INTERPOSE.so SCRATCH [cuda]
 *
 * cuda: of a program for CUDA on the simulated device alone, whose calls fail, too.
 *
 * SCRATCH is emptied. Children of mlpc are not those of $CC, which would take long, but a script that makes the file
 * that it is asked for. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"

enum { MOST_FILES = 32, MOST_CALLS = 24, MOST_DEVICE_CALLS = 400, MOST_ARGUMENTS = 10 };

static const char *const kinds[] = {"memory", "open", "read", "write", "close", "rename", "map", "stat", "spawn",
                                    "folder", "thread"};
/* Of calls of CUDA and cuBLASLt: see tests/gpu/simulated/faults.h. */
static const char *const manners[] = {"once", "sticky", "late", "late-sticky"};
enum { KINDS = sizeof kinds / sizeof *kinds, MANNERS = sizeof manners / sizeof *manners };

struct subject {
    const char *name, *program;     /* what the faults are for */
    const char *arguments[MOST_ARGUMENTS];
    const char *outputs[MOST_FILES];/* that are there before, with something else in them */
};

/* argv[0] stands for the program. Everything runs in SCRATCH/work. */
static const struct subject subjects[] = {
    {"sources", "mlpc", {"--target=cpu", "-o", "out", "net.mlp"},
     {"out/net.c", "out/net.h", "out/net_main.c", "out/net_steps.h", "out/net.weights", "out/net_weights.S"}},
    {"CUDA sources", "mlpc", {"--target=cuda", "-MD", "-MF", "net.d", "-o", "out", "net.mlp"},
     {"out/net.c", "out/net.cu", "net.d"}},
    {"a program", "mlpc", {"--exe", "--target=cpu", "--weights=external", "-o", "out/made", "net.mlp"},
     {"out/made", "out/net.weights"}},
    {"a library", "mlpc", {"--lib", "--target=cpu", "-o", "out", "net.mlp"}, {"out/libnet.a", "out/net.h"}},
    {"an import", "mlpc", {"import", "-o", "out", "--name=net", "model.onnx"}, {"out/net.mlp", "out/net.safetensors"}},
    {"a layout", "mlpc", {"--format=write", "wild.mlp"}, {NULL}},
    {"an explanation", "mlpc", {"--explain", "net.mlp"}, {NULL}},
    {"a run", "net", {"x=x.npy", "y=out/y.npy", "z=out/z.npy"}, {"out/y.npy", "out/z.npy"}},
    {"a run with weights", "net", {"--weights", "net.weights", "x=x.npy", "y=out/y.npy", "z=out/z.npy"}, {"out/y.npy"}},
    {"a verification", "net", {"--verify"}, {NULL}},
    {"information", "net", {"--info"}, {NULL}},
};

static const struct subject cuda_subjects[] = {
    {"a run", "net", {"x=x.npy", "y=out/y.npy"}, {"out/y.npy"}},
    {"a run with weights", "net", {"--weights", "net.weights", "x=x.npy", "y=out/y.npy"}, {"out/y.npy"}},
    {"a verification", "net", {"--verify"}, {NULL}},
    {"information", "net", {"--info"}, {NULL}},
    {"a profile", "net", {"--profile"}, {NULL}},
    {"a measurement", "net", {"--bench", "--batch", "1"}, {NULL}},
    {"tuning", "net", {"--tune", "out/net.plan", "--seconds", "1"}, {NULL}},
};

static const char *build, *interposer, *scratch;
static int passed, failed;

static char *__attribute__((format(printf, 1, 2))) text(const char *format, ...)
{
    char *result;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&result, format, arguments) < 0)
        abort();
    va_end(arguments);
    return result;
}

static void shell(const char *script)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    struct outcome outcome = command_run(scratch, argv, 60);
    if (outcome.status != 0) {
        fprintf(stderr, "faults: %s: status %d\n%s", script, outcome.status, outcome.text);
        exit(3);
    }
    free(outcome.text);
}

/* ---- What is in SCRATCH: a sum over names and contents ---- */

static uint64_t mix(uint64_t sum, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return sum;
}

static int visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static uint64_t sum_of_file(const char *path, uint64_t sum)
{
    static char bytes[65536];
    FILE *file = fopen(path, "rb");
    for (size_t got; file && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        sum = mix(sum, bytes, got);
    if (file)
        fclose(file);
    return sum;
}

static uint64_t sum_of(const char *folder, uint64_t sum)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = text("%s/%s", folder, entries[i]->d_name);
        struct stat info;
        sum = mix(sum, entries[i]->d_name, strlen(entries[i]->d_name) + 1);
        sum = !stat(path, &info) && S_ISDIR(info.st_mode) ? sum_of(path, sum) : sum_of_file(path, sum);
        free(path);
        free(entries[i]);
    }
    free(count >= 0 ? entries : NULL);
    return sum;
}

static uint64_t state(void)
{
    char *work = text("%s/work", scratch), *temporary = text("%s/tmp", scratch);
    uint64_t sum = sum_of(temporary, sum_of(work, 1));
    free(work);
    free(temporary);
    return sum;
}

/* ---- One fault ---- */

static void prepare(const struct subject *subject)
{
    shell("rm -rf work tmp && mkdir work work/out tmp && cp given/* work/");
    for (int i = 0; subject->outputs[i]; i++) {
        char *script = text("echo old >work/%s", subject->outputs[i]);
        shell(script);
        free(script);
    }
}

static bool of_device(const char *kind)
{
    for (int i = 0; i < MANNERS; i++) {
        if (!strcmp(kind, manners[i]))
            return true;
    }
    return false;
}

static void __attribute__((format(printf, 2, 3))) set(const char *name, const char *format, ...)
{
    char *value;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&value, format, arguments) < 0 || setenv(name, value, 1))
        abort();
    va_end(arguments);
    free(value);
}

static void set_fault(const struct subject *subject, const char *kind, long at, int number)
{
    set("FAULT_PROGRAM", "%s", subject->program);
    set("FAULT_KIND", "%s", of_device(kind) ? "none" : kind);
    set("FAULT_AT", "%ld", of_device(kind) ? 0 : at);
    set("FAULT_SIGNAL", "%d", number);
    set("FAULT_COUNT", "%s/calls", scratch);
    set("TMPDIR", "%s/tmp", scratch);
    unsetenv("MLP_SIMULATED_FAIL");
    unsetenv("MLP_SIMULATED_CALLS");
    if (of_device(kind)) {
        set("MLP_SIMULATED_FAIL", "%ld %s", at, kind);
        set("MLP_SIMULATED_CALLS", "%s/device_calls", scratch);
    }
}

static struct outcome run(const struct subject *subject, const char *kind, long at, int number)
{
    char *preload = text("LD_PRELOAD=%s", interposer), *work = text("%s/work", scratch);
    char *program = strcmp(subject->program, "mlpc") ? text("%s/program/net", scratch) : text("%s/mlpc", build);
    char *argv[MOST_ARGUMENTS + 4] = {"env", preload, program};
    for (int i = 0; subject->arguments[i]; i++)
        argv[3 + i] = (char *)subject->arguments[i];
    set_fault(subject, kind, at, number);
    struct outcome outcome = command_run(work, argv, 60);
    free(preload);
    free(program);
    free(work);
    return outcome;
}

/* What the last run wrote when it ended: calls of a kind, and what it held. */
struct count {
    long calls, blocks, files, children;
};

static struct count counted(const char *kind)
{
    struct count count = {.calls = -1};
    char *path = text("%s/calls", scratch), *of_calls = text("%s/device_calls", scratch);
    FILE *file = fopen(path, "r"), *other = fopen(of_calls, "r");
    if (!file || fscanf(file, "%ld %ld %ld %ld", &count.calls, &count.blocks, &count.files, &count.children) != 4 ||
        (of_device(kind) && (!other || fscanf(other, "%ld", &count.calls) != 1)))
        count.calls = -1;
    if (file)
        fclose(file);
    if (other)
        fclose(other);
    free(path);
    free(of_calls);
    return count;
}

/* ---- Judgement ---- */

/* What it prints, and how many calls it makes, hangs on times. */
static bool varies(const struct subject *subject)
{
    static const char *const times[] = {"--profile", "--bench", "--tune"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (!strcmp(subject->arguments[0], times[i]))
            return true;
    }
    return false;
}

/* A program that has no memory left ends where it is, and the system takes back what it held. */
static bool gave_up(const char *kind, int status)
{
    return !strcmp(kind, "memory") && status != 0;
}

/* An arena keeps what mlpc takes. */
static const char *judge_end(const struct subject *subject, const char *kind, int status)
{
    struct count count = counted(kind);
    if (count.calls < 0)
        return "it did not come to its end";
    if (count.children)
        return "a child is not waited for";
    if (count.files > 0 && !gave_up(kind, status))
        return "a file is left open";
    return count.blocks && strcmp(subject->program, "mlpc") && !gave_up(kind, status) ? "memory is not freed" : NULL;
}

/* What gives something back does so even where it tells of an error, and so do all calls of a close; and --info may
 * find that there is no device. */
static bool may_be_passed_over(const char *said)
{
    char call[128] = "";
    long used_after = 1;
    char *path = text("%s/device_calls", scratch);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d %127s %ld", call, &used_after) != 2)
        used_after = 1;
    if (file)
        fclose(file);
    free(path);
    return !used_after || strstr(call, "Destroy") || strstr(call, "cudaFree") || strstr(said, "no device: ");
}

static bool names_call(const char *said)
{
    return strstr(said, "cuda") || strstr(said, "cublas") || strstr(said, "kernel launch");
}

static const char *judge(const struct subject *subject, const char *kind, const struct outcome *outcome,
                         uint64_t before, uint64_t good, const char *expected)
{
    const char *crash = command_crash(outcome);
    uint64_t after = state();
    if (crash)
        return crash;
    if (strstr(outcome->text, "not given back") && !gave_up(kind, outcome->status))
        return "something of the device is not given back";
    if (outcome->status == 0 && !varies(subject) && after != good)
        return "status 0, but the output is not what it is without a fault";
    if (outcome->status == 0 && !strcmp(kind, "once") && !varies(subject) && !may_be_passed_over(outcome->text))
        return "status 0, though a call of the device has failed";
    if (outcome->status == 0 && strstr(outcome->text, "no device: "))
        return NULL;                /* as --info finds it */
    if (outcome->status == 0)
        return !varies(subject) && strcmp(outcome->text, expected) ? "status 0, but other words are printed" : NULL;
    if (outcome->status != 3)
        return "the status is not 3";
    if (!strstr(outcome->text, "error") && !strstr(outcome->text, ": "))
        return "there is no message";
    if (of_device(kind) && !names_call(outcome->text))
        return "the message names no call of the device";
    return varies(subject) || after == before ? NULL : "files have changed, or are left behind";
}

static void try_fault(const struct subject *subject, const char *kind, long at, long calls, uint64_t before,
                      uint64_t good, const char *expected)
{
    struct outcome outcome = run(subject, kind, at, 0);
    const char *why = judge(subject, kind, &outcome, before, good, expected);
    if (!why)
        why = judge_end(subject, kind, outcome.status);
    if (why)
        printf("FAILED %s: %s call %ld of %ld fails: %s (status %d)\n%.500s\n", subject->name, kind, at, calls, why,
               outcome.status, outcome.text);
    failed += why != NULL;
    passed += why == NULL;
    free(outcome.text);
}

static void try_kind(const struct subject *subject, const char *kind)
{
    prepare(subject);
    uint64_t before = state();
    struct outcome whole = run(subject, kind, 0, 0);
    uint64_t good = state();
    long calls = counted(kind).calls, most = of_device(kind) && !varies(subject) ? MOST_DEVICE_CALLS : MOST_CALLS;
    const char *why = whole.status || calls < 0 ? "it fails" : judge_end(subject, kind, 0);
    if (why) {
        printf("FAILED %s: without a fault, %s: status %d\n%s", subject->name, why, whole.status, whole.text);
        failed++;
    }
    long step = calls > most ? (calls + most - 1) / most : 1;
    for (long at = 1; !why && at <= calls; at += at < 20 ? 1 : step) {
        if (state() != before)
            prepare(subject);
        try_fault(subject, kind, at, calls, before, good, whole.text);
    }
    free(whole.text);
}

/* ---- One signal ---- */

static uint64_t sum_of_output(const struct subject *subject, int index)
{
    char *path = text("%s/work/%s", scratch, subject->outputs[index]);
    uint64_t sum = sum_of_file(path, 1);
    free(path);
    return sum;
}

static int count_files(void)
{
    char *argv[] = {"sh", "-c", "find work tmp | wc -l", NULL};
    struct outcome outcome = command_run(scratch, argv, 60);
    int count = atoi(outcome.text);
    free(outcome.text);
    return count;
}

static const char *after_signal(const struct subject *subject, const uint64_t *old, const uint64_t *new)
{
    const char *why = NULL;
    for (int i = 0; subject->outputs[i]; i++) {
        uint64_t sum = sum_of_output(subject, i);
        if (sum != old[i] && sum != new[i])
            why = "an output is neither the earlier one nor the new one";
    }
    struct outcome again = run(subject, "none", 0, 0);
    for (int i = 0; subject->outputs[i]; i++) {
        if (again.status != 0 || sum_of_output(subject, i) != new[i])
            why = "the next run does not give its outputs";
    }
    free(again.text);
    return why;
}

static void try_signal(const struct subject *subject, const char *kind, int number)
{
    uint64_t old[MOST_FILES], new[MOST_FILES];
    prepare(subject);
    for (int i = 0; subject->outputs[i]; i++)
        old[i] = sum_of_output(subject, i);
    struct outcome whole = run(subject, kind, 0, 0);
    free(whole.text);
    int files = count_files();
    long calls = counted(kind).calls, step = (calls + 11) / 12;
    for (int i = 0; subject->outputs[i]; i++)
        new[i] = sum_of_output(subject, i);
    for (long at = 1; at <= calls; at += step) {
        prepare(subject);
        struct outcome outcome = run(subject, kind, at, number);
        const char *why = outcome.signal != number ? "the signal does not end it" : NULL;
        if (!why && number == SIGTERM && count_files() > files)
            why = "files are left behind";
        if (!why)
            why = after_signal(subject, old, new);
        if (why)
            printf("FAILED %s: signal %d at %s call %ld of %ld: %s\n", subject->name, number, kind, at, calls, why);
        failed += why != NULL;
        passed += why == NULL;
        free(outcome.text);
    }
}

static void try_subject(const struct subject *subject, bool cuda)
{
    static const char *const at[] = {"write", "close", "rename"};
    for (int k = 0; k < KINDS; k++)
        try_kind(subject, kinds[k]);
    for (int k = 0; cuda && k < MANNERS; k++)
        try_kind(subject, manners[k]);
    for (int k = 0; subject->outputs[0] && k < 3; k++) {
        try_signal(subject, at[k], SIGKILL);
        if (!strcmp(subject->program, "mlpc"))
            try_signal(subject, at[k], SIGTERM);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const bool cuda = argc > 4 && !strcmp(argv[4], "cuda");
    const struct subject *all = cuda ? cuda_subjects : subjects;
    const size_t count = cuda ? sizeof cuda_subjects / sizeof *all : sizeof subjects / sizeof *all;
    build = realpath(argv[1], NULL);
    interposer = realpath(argv[2], NULL);
    scratch = realpath(argv[3], NULL);
    if (!build || !interposer || !scratch) {
        perror("faults");
        return 3;
    }
    for (size_t i = 0; i < count; i++)
        try_subject(&all[i], cuda);
    printf("faults: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
