/* From folders of cases to a verdict on each: compiles the case's network in a copy of its folder with a strict C
 * compiler, checks what mlpc said and left behind, holds the emitted C to a strict C++ compiler, runs the program and
 * compares its outputs with the references. cases/README.md describes a case.
 *
 *     run_cases [-qv] [-j WORKERS] [-n NAME] [-t SECONDS] MLPC RUNTIME SCRATCH CASES...
 *
 * -q leaves out the strict compilers. Each case runs in a process of its own and leaves its report in
 * SCRATCH/NAME/report. */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "compare.h"

enum { MAX_ARGUMENTS = 64 };
#define STRICT "-Wall", "-Wextra", "-Wpedantic", "-Werror"
#define CXX_DIALECT "-std=c++20", STRICT
static const double default_tolerance = 2e-5;
static double time_limit = 60;      /* seconds to build and run a case */

struct setting {
    const char *mlpc, *runtime, *scratch;
    bool quick, verbose;
    const char *only;               /* the one case to run, or NULL */
};

struct names {
    char **at;
    int count;
};

struct test {
    const struct setting *setting;
    const char *folder;             /* of the case */
    char *place;                    /* SCRATCH/NAME: holds work/, source/, temporary/ and report */
    char *work;                     /* where the compiler and the program run */
    json_t *json;
    FILE *report;
    int failures;
    double worst;                   /* the largest difference of all outputs, over the largest reference */
    const char *verdict;            /* what came out of a case that passes: "built", "refused" */
};

/* ---- Small tools ---- */

static char *__attribute__((format(printf, 1, 2))) text(const char *format, ...)
{
    va_list arguments;
    char *result;
    va_start(arguments, format);
    if (vasprintf(&result, format, arguments) < 0)
        abort();
    va_end(arguments);
    return result;
}

static void __attribute__((format(printf, 2, 3))) fail(struct test *test, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("    ", test->report);
    vfprintf(test->report, format, arguments);
    fputc('\n', test->report);
    va_end(arguments);
    test->failures++;
}

static int visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* The entries of a folder that begin and end as told, sorted. */
static struct names list(const char *folder, const char *begin, const char *end)
{
    struct dirent **entries;
    struct names names = {0};
    int count = scandir(folder, &entries, visible, alphasort);
    if (count < 0)
        return names;
    names.at = calloc((size_t)count + 1, sizeof *names.at);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name), tail = strlen(end);
        if (strncmp(name, begin, strlen(begin)) == 0 && length >= tail && strcmp(name + length - tail, end) == 0)
            names.at[names.count++] = text("%s", name);
        free(entries[i]);
    }
    free(entries);
    return names;
}

/* The entries of a folder on one line. */
static char *listing(const char *folder)
{
    struct names names = list(folder, "", "");
    char *line = text("%s", "");
    for (int i = 0; i < names.count; i++) {
        char *longer = text("%s%s ", line, names.at[i]);
        free(line);
        line = longer;
    }
    return line;
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char block[16384];
    size_t got;
    if (!in || !out) {
        fprintf(stderr, "run_cases: cannot copy %s to %s: %s\n", from, to, strerror(errno));
        exit(EXIT_FAILURE);
    }
    while ((got = fread(block, 1, sizeof block, in)) > 0)
        fwrite(block, 1, got, out);
    fclose(in);
    fclose(out);
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        fprintf(stderr, "run_cases: cannot make %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

static void remove_folder(const char *path)
{
    char *argv[] = {"rm", "-rf", (char *)path, NULL};
    free(command_run("/", argv, time_limit).text);
}

/* ---- The case's keys ---- */

static bool is_true(const struct test *test, const char *key)
{
    return json_is_true(json_object_get(test->json, key));
}

/* Whether a key that holds a number or a list of numbers holds this one. */
static bool holds_number(const json_t *value, long number)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_integer_value(json_array_get(value, i)) == number)
            return true;
    return json_is_integer(value) && json_integer_value(value) == number;
}

static bool expects_error(const struct test *test)
{
    const char *expect = json_string_value(json_object_get(test->json, "expect"));
    return expect && strcmp(expect, "error") == 0;
}

static double tolerance(const struct test *test)
{
    const json_t *value = json_object_get(test->json, "tolerance");
    if (json_is_string(value))
        return -1;                  /* "exact" */
    return json_is_number(value) ? json_number_value(value) : default_tolerance;
}

/* ---- What the compiler said ---- */

/* Whether some "model.mlp:LINE:" names one of the lines, with `kind` behind it on its line. */
static bool names_line(const char *said, const json_t *lines, const char *kind)
{
    static const char file[] = "model.mlp:";
    for (const char *at = said; (at = strstr(at, file)) != NULL; at++) {
        const char *end = strchrnul(at, '\n');
        const char *found = strstr(at, kind);
        if (found && found < end && holds_number(lines, strtol(at + strlen(file), NULL, 10)))
            return true;
    }
    return false;
}

/* The messages without their "file:line:col" parts, which hold words and numbers by chance. */
static char *without_places(const char *said)
{
    char *result = text("%s", said), *to = result;
    for (const char *line = said; *line;) {
        const char *end = strchrnul(line, '\n');
        const char *place = strstr(line, "model.mlp:");
        if (place && place < end)
            line = place + strlen("model.mlp:") + strspn(place + strlen("model.mlp:"), "0123456789:");
        while (line <= end && *line)
            *to++ = *line++;
    }
    *to = '\0';
    return result;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool mentions(const char *said, const char *word)
{
    for (const char *at = said; (at = strstr(at, word)) != NULL; at++)
        if ((at == said || !in_word(at[-1])) && !in_word(at[strlen(word)]))
            return true;
    return false;
}

static void check_error_text(struct test *test, const char *said)
{
    const json_t *lines = json_object_get(test->json, "error_line");
    const json_t *words = json_object_get(test->json, "error_must_mention");
    char *plain = without_places(said);
    if (lines && !names_line(said, lines, ""))
        fail(test, "the message names no expected line; it is:\n%s", said);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (!mentions(plain, word))
            fail(test, "the message does not mention '%s'; it is:\n%s", word, said);
    }
    free(plain);
}

static void check_warnings(struct test *test, const char *said)
{
    const json_t *lines = json_object_get(test->json, "warning_line");
    if (lines && !names_line(said, lines, "warning:"))
        fail(test, "no warning about the expected line; it says:\n%s", said);
    else if (!lines && !is_true(test, "may_warn") && *said)
        fail(test, "the build should be silent; it says:\n%s", said);
}

/* ---- The steps of a case ---- */

/* Runs a command in `folder`; a crash is a failure at once. */
static struct outcome run(struct test *test, const char *folder, char *const *argv, double seconds)
{
    struct outcome outcome = command_run(folder, argv, seconds > 0 ? seconds : 0);
    const char *crash = command_crash(&outcome);
    if (crash)
        fail(test, "%s: %s (status %d)\n%s", argv[0], crash, outcome.status, outcome.text);
    return outcome;
}

static void check_refusal(struct test *test, const struct outcome *outcome, const char *before)
{
    const json_t *others = json_object_get(test->json, "exit");
    char *after = listing(test->work);
    if (outcome->status != 1 && !holds_number(others, outcome->status))
        fail(test, "the compiler exits with %d:\n%s", outcome->status, outcome->text);
    if (strcmp(before, after) != 0)
        fail(test, "there were: %s; after the error there are: %s", before, after);
    check_error_text(test, outcome->text);
    test->verdict = "refused";
    free(after);
}

/* Puts a C++ compiler's view of C's headers into SCRATCH/headers.h.gch. Reading them is most of the time that the steps
 * of a small network take it. */
static void precompile_headers(const struct setting *setting)
{
    char *argv[] = {"g++", CXX_DIALECT, "-x", "c++-header", "headers.h", NULL};
    char *path = text("%s/headers.h", setting->scratch);
    FILE *to = fopen(path, "w");
    if (!to || fputs("#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n", to) < 0
        || fclose(to) != 0) {
        fprintf(stderr, "run_cases: cannot write %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    struct outcome outcome = command_run(setting->scratch, argv, time_limit);
    if (outcome.status != 0) {
        fprintf(stderr, "run_cases: g++ refuses %s:\n%s\n", path, outcome.text);
        exit(EXIT_FAILURE);
    }
    free(outcome.text);
    free(path);
}

/* Whether a source has steps for the CPU, and includes C's headers for them. */
static bool has_steps(const char *path)
{
    char begin[1024] = "";
    FILE *in = fopen(path, "r");
    size_t length = in ? fread(begin, 1, sizeof begin - 1, in) : 0;
    if (in)
        fclose(in);
    begin[length] = '\0';
    return strstr(begin, "#define MLP_STEPS ") != NULL;
}

/* Emits the C sources and has a strict C++ compiler read them. */
static void check_sources(struct test *test)
{
    char *emit[] = {(char *)test->setting->mlpc, "--target=cpu", "-o", "../source", "model.mlp", NULL};
    struct outcome emitted = run(test, test->work, emit, time_limit);
    char *source = text("%s/source", test->place);
    struct names files = list(source, "", ".c");
    if (emitted.status != 0 || files.count == 0)
        fail(test, "emitting sources gives %d files and status %d:\n%s", files.count, emitted.status, emitted.text);
    for (int i = 0; i < files.count; i++) {
        bool steps = has_steps(text("%s/%s", source, files.at[i]));
        char *argv[] = {"g++", CXX_DIALECT, "-fsyntax-only", "-include", steps ? "../../headers.h" : "/dev/null", "-I",
                        (char *)test->setting->runtime, "-x", "c++", files.at[i], NULL};
        struct outcome compiled = run(test, source, argv, time_limit);
        if (compiled.status != 0)
            fail(test, "g++ refuses %s:\n%.2000s", files.at[i], compiled.text);
        free(compiled.text);
    }
    free(emitted.text);
}

static void check_output(struct test *test, const char *name)
{
    struct array got = {0}, reference = {0};
    char error[512] = "";
    double worst = 0;
    char *got_path = text("%s/got_%s", test->work, name), *path = text("%s/out_%s", test->folder, name);
    if (!compare_read(path, &reference, error, sizeof error) || !compare_read(got_path, &got, error, sizeof error)
        || !compare_arrays(&got, &reference, tolerance(test), &worst, error, sizeof error))
        fail(test, "output %s: %s", name, error);
    if (worst > test->worst)
        test->worst = worst;
    compare_free(&got);
    compare_free(&reference);
    free(got_path);
    free(path);
}

/* Adds NAME=IN.npy for each input, the last one first: they are told by name. */
static int add_inputs(const struct test *test, char **argv, int count)
{
    struct names inputs = list(test->folder, "in_", ".npy");
    for (int i = inputs.count; i-- > 0;)
        argv[count++] = text("%.*s=%s", (int)strlen(inputs.at[i]) - 7, inputs.at[i] + 3, inputs.at[i]);
    return count;
}

static void check_program(struct test *test, double seconds)
{
    struct names outputs = list(test->folder, "out_", ".npy");
    char *argv[MAX_ARGUMENTS] = {"./program"};
    int count = add_inputs(test, argv, 1);
    for (int i = 0; i < outputs.count; i++)
        argv[count++] = text("%.*s=got_%s", (int)strlen(outputs.at[i]) - 8, outputs.at[i] + 4, outputs.at[i] + 4);
    struct outcome outcome = run(test, test->work, argv, seconds);
    if (outcome.status != 0)
        fail(test, "the program exits with %d:\n%s", outcome.status, outcome.text);
    for (int i = 0; i < outputs.count; i++)
        check_output(test, outputs.at[i] + 4);
    if (outputs.count == 0)
        fail(test, "the case has no reference");
    free(outcome.text);
}

/* The program's own comparison of each step with float64. */
static void check_verify(struct test *test)
{
    char *argv[MAX_ARGUMENTS] = {"./program", "--verify"};
    add_inputs(test, argv, 2);
    struct outcome outcome = run(test, test->work, argv, time_limit);
    if (outcome.status != 0)
        fail(test, "--verify exits with %d:\n%s", outcome.status, outcome.text);
    free(outcome.text);
}

static void check_case(struct test *test)
{
    char *argv[] = {(char *)test->setting->mlpc, "--exe", "--target=cpu", "-o", "program", "model.mlp", NULL};
    double end = command_now() + time_limit;
    char *before = listing(test->work);
    struct outcome outcome = run(test, test->work, argv, time_limit);
    char *temporary = listing(getenv("TMPDIR"));
    if (*temporary)
        fail(test, "temporary files are left: %s", temporary);
    if (expects_error(test) || (is_true(test, "or_error") && outcome.status != 0)) {
        check_refusal(test, &outcome, before);
    } else if (outcome.status != 0) {
        fail(test, "the compiler exits with %d:\n%s", outcome.status, outcome.text);
    } else {
        test->verdict = "built";
        check_warnings(test, outcome.text);
        check_program(test, end - command_now());
        check_verify(test);
        if (!test->setting->quick)
            check_sources(test);
    }
    free(before);
    free(temporary);
    free(outcome.text);
}

/* ---- Cases in turn ---- */

/* A spec that stands elsewhere, named relative to the case, and the weights that have its name. */
static void copy_spec(const struct test *test, const char *spec)
{
    const char *name = strrchr(spec, '/') + 1;
    char *path = text("%s/%s", test->folder, spec);
    char *weights = text("%.*s.safetensors", (int)(strlen(path) - strlen(".mlp")), path);
    copy_file(path, text("%s/model.mlp", test->work));
    copy_file(weights, text("%s/%.*s.safetensors", test->work, (int)(strlen(name) - strlen(".mlp")), name));
}

/* A copy of everything but the references. */
static void prepare(struct test *test)
{
    const char *spec = json_string_value(json_object_get(test->json, "spec"));
    remove_folder(test->place);
    make_folder(test->place);
    make_folder(test->work);
    char *source = text("%s/source", test->place), *temporary = text("%s/temporary", test->place);
    make_folder(source);
    make_folder(temporary);
    setenv("TMPDIR", temporary, 1);
    struct names files = list(test->folder, "", "");
    for (int i = 0; i < files.count; i++)
        if (strncmp(files.at[i], "out_", 4) != 0 && strcmp(files.at[i], "case.json") != 0)
            copy_file(text("%s/%s", test->folder, files.at[i]), text("%s/%s", test->work, files.at[i]));
    if (spec)
        copy_spec(test, spec);
}

/* The life of a case's process; its exit status says whether the case passed. */
static _Noreturn void run_case(const struct setting *setting, const char *folder)
{
    const char *name = strrchr(folder, '/') + 1;
    struct test test = {.setting = setting, .folder = folder, .verdict = "failed"};
    double begin = command_now();
    json_error_t problem;
    test.place = text("%s/%s", setting->scratch, name);
    test.work = text("%s/work", test.place);
    test.json = json_load_file(text("%s/case.json", folder), 0, &problem);
    prepare(&test);
    test.report = fopen(text("%s/report", test.place), "w");
    if (!test.report)
        exit(EXIT_FAILURE);
    if (test.json)
        check_case(&test);
    else
        fail(&test, "case.json: line %d: %s", problem.line, problem.text);
    fclose(test.report);
    if (setting->verbose)
        printf("%-40s %-8s worst %-9.3g %5.1f s\n", name, test.failures ? "FAILED" : test.verdict, test.worst,
               command_now() - begin);
    exit(test.failures ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Prints what a failed case has to say. */
static void print_report(const struct setting *setting, const char *folder)
{
    const char *name = strrchr(folder, '/') + 1;
    char line[4096];
    char *path = text("%s/%s/report", setting->scratch, name);
    FILE *report = fopen(path, "r");
    printf("FAILED %s\n", name);
    while (report && fgets(line, sizeof line, report))
        fputs(line, stdout);
    if (report)
        fclose(report);
    free(path);
}

/* Waits for one case to end; 1 if it failed. */
static int finish_one(const struct setting *setting, const struct names *cases, const pid_t *children)
{
    int state;
    pid_t child = wait(&state);
    if (WIFEXITED(state) && WEXITSTATUS(state) == EXIT_SUCCESS)
        return 0;
    for (int i = 0; i < cases->count; i++)
        if (children[i] == child)
            print_report(setting, cases->at[i]);
    return 1;
}

/* mlpc compiles with strict warnings as errors from now on, but for sanitizers, which make gcc suspect more. */
static void make_compiler_strict(void)
{
    static const char *const strict[] = {STRICT};
    const char *cc = getenv("CC") ? getenv("CC") : "gcc";
    if (strstr(cc, "-fsanitize"))
        return;
    for (size_t i = 0; i < sizeof strict / sizeof *strict; i++)
        cc = text("%s %s", cc, strict[i]);
    setenv("CC", cc, 1);
}

static int run_all(const struct setting *setting, const struct names *cases, int workers)
{
    int failed = 0, running = 0;
    pid_t *children = calloc((size_t)cases->count + 1, sizeof *children);
    if (!children)
        abort();
    for (int i = 0; i < cases->count; i++, running++) {
        if (running == workers) {
            failed += finish_one(setting, cases, children);
            running--;
        }
        fflush(NULL);
        children[i] = fork();
        if (children[i] == 0)
            run_case(setting, cases->at[i]);
    }
    while (running-- > 0)
        failed += finish_one(setting, cases, children);
    free(children);
    return failed;
}

/* Adds the folders below `path` that hold a case. */
static void find_cases(const struct setting *setting, const char *path, struct names *cases)
{
    struct names folders = list(path, "", "");
    cases->at = realloc(cases->at, (size_t)(cases->count + folders.count + 1) * sizeof *cases->at);
    for (int i = 0; i < folders.count; i++) {
        char *folder = text("%s/%s", path, folders.at[i]), *json = text("%s/case.json", folder);
        bool wanted = !setting->only || strcmp(setting->only, folders.at[i]) == 0;
        if (wanted && access(json, R_OK) == 0)
            cases->at[cases->count++] = folder;
        free(json);
    }
}

static char *absolute(const char *path)
{
    char *whole = realpath(path, NULL);
    if (!whole) {
        fprintf(stderr, "run_cases: %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return whole;
}

int main(int argc, char **argv)
{
    struct setting setting = {0};
    struct names cases = {0};
    int workers = 2, option;
    while ((option = getopt(argc, argv, "qvj:n:t:")) != -1) {
        switch (option) {
        case 'q': setting.quick = true; break;
        case 'v': setting.verbose = true; break;
        case 'j': workers = atoi(optarg); break;
        case 'n': setting.only = optarg; break;
        case 't': time_limit = atof(optarg); break;
        default: return EXIT_FAILURE;
        }
    }
    if (argc - optind < 4 || workers < 1) {
        fprintf(stderr, "usage: run_cases [-qv] [-j WORKERS] [-n NAME] [-t SECONDS] MLPC RUNTIME SCRATCH CASES...\n");
        return EXIT_FAILURE;
    }
    setting.mlpc = absolute(argv[optind]);
    setting.runtime = absolute(argv[optind + 1]);
    setting.scratch = absolute(argv[optind + 2]);
    for (int i = optind + 3; i < argc; i++)
        find_cases(&setting, absolute(argv[i]), &cases);
    if (!setting.quick) {
        make_compiler_strict();
        precompile_headers(&setting);
    }
    int failed = run_all(&setting, &cases, workers);
    printf("cases: %d passed, %d failed\n", cases.count - failed, failed);
    return failed || cases.count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
