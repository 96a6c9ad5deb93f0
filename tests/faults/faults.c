/* Makes every call of a kind fail in turn, of mlpc and of a program that it made, and holds what comes of it to what is
 * promised: exit status 3 with a message, no output or the earlier one, nothing left behind, no crash. A call may also
 * not matter; then the output must be what it is without faults. And ends them by signals at calls: each output is the
 * earlier one or the new one, whole, and the next run is not disturbed; after SIGTERM, mlpc leaves nothing behind.
 *
 *     faults BUILD INTERPOSE.so SCRATCH
 *
 * SCRATCH is emptied. Children of mlpc are not those of $CC, which would take long, but a script that makes the file that
 * it is asked for. */
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

enum { MOST_FILES = 32, MOST_CALLS = 24, MOST_ARGUMENTS = 10 };

static const char *const kinds[] = {"memory", "open", "read", "write", "close", "rename", "map", "stat", "spawn", "folder"};
enum { KINDS = sizeof kinds / sizeof *kinds };

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

static struct outcome run(const struct subject *subject, const char *kind, long at, int number)
{
    char *argv[MOST_ARGUMENTS + 12] = {"env"};
    int count = 1;
    argv[count++] = text("LD_PRELOAD=%s", interposer);
    argv[count++] = text("FAULT_PROGRAM=%s", subject->program);
    argv[count++] = text("FAULT_KIND=%s", kind);
    argv[count++] = text("FAULT_AT=%ld", at);
    argv[count++] = text("FAULT_SIGNAL=%d", number);
    argv[count++] = text("FAULT_COUNT=%s/calls", scratch);
    argv[count++] = text("TMPDIR=%s/tmp", scratch);
    argv[count++] = strcmp(subject->program, "mlpc") ? text("%s/program/net", scratch) : text("%s/mlpc", build);
    for (int i = 0; subject->arguments[i]; i++)
        argv[count++] = (char *)subject->arguments[i];
    char *work = text("%s/work", scratch);
    struct outcome outcome = command_run(work, argv, 60);
    for (int i = 1; i < count - 1 && strchr(argv[i], '='); i++) {
        if (i <= 7)
            free(argv[i]);
    }
    free(work);
    return outcome;
}

static long calls_made(void)
{
    char *path = text("%s/calls", scratch);
    long calls = -1;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &calls) != 1)
        calls = -1;
    if (file)
        fclose(file);
    free(path);
    return calls;
}

static const char *judge(const struct outcome *outcome, uint64_t before, uint64_t good, const char *expected)
{
    const char *crash = command_crash(outcome);
    uint64_t after = state();
    if (crash)
        return crash;
    if (outcome->status == 0 && after != good)
        return "status 0, but the output is not what it is without a fault";
    if (outcome->status == 0)
        return strcmp(outcome->text, expected) ? "status 0, but other words are printed" : NULL;
    if (outcome->status != 3)
        return "the status is not 3";
    if (!strstr(outcome->text, "error") && !strstr(outcome->text, ": "))
        return "there is no message";
    return after == before ? NULL : "files have changed, or are left behind";
}

static void try_kind(const struct subject *subject, const char *kind)
{
    prepare(subject);
    uint64_t before = state();
    struct outcome whole = run(subject, kind, 0, 0);
    uint64_t good = state();
    long calls = calls_made();
    bool wrong = whole.status != 0 || calls < 0;
    if (wrong)
        printf("FAILED %s: status %d without a fault\n%s", subject->name, whole.status, whole.text);
    bool fresh = false;
    long step = calls > MOST_CALLS ? (calls + MOST_CALLS - 1) / MOST_CALLS : 1;
    for (long at = 1; !wrong && at <= calls; at += at < 20 ? 1 : step) {
        if (!fresh)
            prepare(subject);
        struct outcome outcome = run(subject, kind, at, 0);
        const char *why = judge(&outcome, before, good, whole.text);
        if (why) {
            printf("FAILED %s: %s call %ld of %ld fails: %s (status %d)\n%.500s\n", subject->name, kind, at, calls, why,
                   outcome.status, outcome.text);
            failed++;
        } else {
            passed++;
        }
        fresh = !why && outcome.status != 0;
        free(outcome.text);
    }
    failed += wrong;
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
    long calls = calls_made(), step = (calls + 11) / 12;
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

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    build = realpath(argv[1], NULL);
    interposer = realpath(argv[2], NULL);
    scratch = realpath(argv[3], NULL);
    if (!build || !interposer || !scratch) {
        perror("faults");
        return 3;
    }
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        for (int k = 0; k < KINDS; k++)
            try_kind(&subjects[i], kinds[k]);
        for (int k = 0; subjects[i].outputs[0] && k < 3; k++) {
            static const char *const at[] = {"write", "close", "rename"};
            try_signal(&subjects[i], at[k], SIGKILL);
            if (!strcmp(subjects[i].program, "mlpc"))
                try_signal(&subjects[i], at[k], SIGTERM);
        }
    }
    printf("faults: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
