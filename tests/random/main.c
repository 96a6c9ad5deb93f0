/* Compiles random networks for the CPU, and holds what they compute to float64, every step to --verify, their memory to
 * poison, and the plans for both targets to what any plan must be.
 *
 *     random_networks [-n COUNT] [-s SEED] [-j WORKERS] [-t TYPE] [-x COMPILER] MLPC RUNTIME SCRATCH
 *     random_networks -w FOLDER [-s SEED] [-t TYPE]
 *
 * Networks have the seeds SEED, SEED + 1, ... Some go together into one program, since a program's compilation is what
 * takes time; -x: each is made by `COMPILER --exe`, which may be MLPC or stand for it (tests/gpu/simulated). One that
 * fails is made as small as it can be and still fail, and printed. -w: only writes a network, its arrays, what must
 * come out of a GPU and the tolerances into FOLDER. $CC: compiler and options for generated code. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../command.h"
#include "../compare.h"
#include "network.h"

enum { TOGETHER = 12, LONGEST_SHRINKING = 60, SECONDS = 120 };

static struct {
    const char *mlpc, *runtime, *scratch, *here;
    const char *apart;              /* what compiles each network into a program of its own, or NULL */
    int type;
} setting = {.type = -1};

struct tally {
    long passed, failed, judged, elements, steps;
    double waste, most_waste;       /* of arenas, over the least possible */
    long plans, chains;
    double tolerances;              /* sum of logarithms of relative tolerances */
};

static struct tally tally;

struct trial {
    const struct network *network;
    struct graph *graph;
    struct array_in *inputs;
    struct expected *expected;
    const char *folder;
    const char *wrong;              /* NULL, or what failed; its first word is the kind of failure */
};

static bool __attribute__((format(printf, 2, 3))) wrong(struct trial *trial, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    if (!trial->wrong)
        trial->wrong = pool_text("%s", text);
    free(text);
    return false;
}

/* ---- Commands ---- */

/* What it says, where its status is 0. */
static const char *run(struct trial *trial, const char *kind, char **argv)
{
    struct outcome outcome = command_run(trial->folder, argv, SECONDS);
    const char *crash = command_crash(&outcome), *text = pool_text("%s", outcome.text);
    size_t length = strlen(text);
    free(outcome.text);
    if (!crash && outcome.status == 0)
        return text;
    wrong(trial, "%s: %s (status %d)\n%s", kind, crash ? crash : "fails", outcome.status,
          length > 3000 ? text + length - 3000 : text);
    return NULL;
}

static char *level(const struct trial *trial)
{
    return trial->network->seed / TOGETHER % 3 ? "--cpu=x86-64" : "--cpu=v3";
}

static bool check_plan(struct trial *trial, const char *target, int alignment)
{
    double waste;
    bool chain;
    char *argv[] = {(char *)setting.mlpc, "--dump=memory", pool_text("--target=%s", target),
                    pool_text("%s.mlp", trial->network->name), NULL};
    const char *dump = run(trial, "plan", argv);
    if (!dump)
        return false;
    while (*dump && strncmp(dump, "arena ", 6))             /* behind warnings */
        dump = strchrnul(dump, '\n'), dump += *dump == '\n';
    const char *found = memory_wrong(dump, alignment, &waste, &chain);
    if (found)
        return wrong(trial, "memory: %s: %s\n%s", target, found, dump);
    tally.plans++;
    tally.chains += chain;
    tally.waste += waste;
    tally.most_waste = fmax(tally.most_waste, waste);
    return true;
}

/* Sources for the CPU, in the folder above that of the trial; or a program of its own. */
static bool emit(struct trial *trial)
{
    char *threads = trial->network->seed % 4 ? "--threads=1" : "--threads=2";
    char *argv[] = {(char *)setting.mlpc, "--target=cpu", level(trial), threads, "-o", "..",
                    pool_text("%s.mlp", trial->network->name), NULL};
    char *whole[] = {(char *)setting.apart, "--exe", "--target=cpu", "-o", "program",
                     pool_text("%s.mlp", trial->network->name), NULL};
    return run(trial, "mlpc", setting.apart ? whole : argv);
}

/* ---- Judgement ---- */

static bool judge_element(struct trial *trial, const struct expected *expected, const char *name, size_t i, double got)
{
    double want = expected->value[i], tolerance = expected->tolerance[i];
    tally.elements++;
    if (isinf(tolerance))
        return true;
    tally.judged++;
    tally.tolerances += log10(fmax(tolerance, 1e-12) / fmax(fabs(want), 1e-6));
    if (isnan(want) ? isnan(got) : fabs(got - want) <= tolerance)
        return true;
    return wrong(trial, "output: %s, row %zu, column %zu is %.9g, should be %.9g within %.3g", name,
                 i / (size_t)expected->width, i % (size_t)expected->width, got, want, tolerance);
}

static bool judge_output(struct trial *trial, int index)
{
    static const char *const types[] = {[F32] = "<f4", [F16] = "<f2", [BF16] = "<V2"};
    const struct output *output = &trial->graph->outputs[index];
    const struct expected *expected = &trial->expected[index];
    struct array got;
    char error[256];
    bool good = true;
    if (!compare_read(pool_text("%s/got_%s.npy", trial->folder, output->name), &got, error, sizeof error))
        return wrong(trial, "array: %s: %s", output->name, error);
    if (strcmp(got.type, types[output->type]) || got.rows != (size_t)trial->network->rows || got.rank != 2 ||
        got.width != (size_t)expected->width)
        good = wrong(trial, "array: %s has the wrong type or shape", output->name);
    for (size_t i = 0; good && i < got.rows * got.width; i++)
        good = judge_element(trial, expected, output->name, i, compare_number(&got, i));
    compare_free(&got);
    return good;
}

/* The program, or the network's part of one. */
static int begin_command(const struct trial *trial, char **argv)
{
    int count = 0;
    argv[count++] = setting.apart ? "./program" : "../program";
    if (!setting.apart)
        argv[count++] = (char *)trial->network->name;
    return count;
}

static bool run_network(struct trial *trial)
{
    char *argv[4 + 2 * MAX_PORTS] = {NULL};
    int count = begin_command(trial, argv), with_inputs;
    for (int i = trial->network->input_count; i-- > 0;)
        argv[count++] = pool_text("%s=in_%s.npy", trial->network->inputs[i].name, trial->network->inputs[i].name);
    with_inputs = count;
    for (int i = 0; i < trial->graph->output_count; i++)
        argv[count++] = pool_text("%s=got_%s.npy", trial->graph->outputs[i].name, trial->graph->outputs[i].name);
    if (!run(trial, "run", argv))
        return false;
    for (int i = 0; i < trial->graph->output_count; i++) {
        if (!judge_output(trial, i))
            return false;
    }
    argv[with_inputs] = "--verify";
    argv[with_inputs + 1] = NULL;
    if (!run(trial, "verify", argv))
        return false;
    argv[count = begin_command(trial, argv)] = "prove";
    argv[count + 1] = NULL;
    return setting.apart || run(trial, "poison", argv);
}

/* ---- Networks that go into one program ---- */

static void write_dispatch(struct trial *trials, int count, const char *folder)
{
    FILE *to = fopen(pool_text("%s/program.c", folder), "w");
    if (!to)
        abort();
    fputs("#include <stdio.h>\n#include <string.h>\n#include \"prove.h\"\n\n", to);
    for (int i = 0; i < count; i++) {
        const char *name = trials[i].network->name;
        FILE *proved = fopen(pool_text("%s/%s_arena.c", folder, name), "w");
        if (!proved)
            abort();
        fprintf(proved, "#include \"%s.c\"\nvoid *%s_arena(void);\n"
                        "void *%s_arena(void)\n{\n    return parts.arena;\n}\n", name, name, name);
        fclose(proved);
        fprintf(to, "extern const mlp_model %s_model;\nvoid *%s_arena(void);\n", name, name);
    }
    fputs("\nstatic int use(int argc, char **argv, const mlp_model *model, void *arena)\n{\n"
          "    const char *wrong;\n"
          "    if (argc < 2 || strcmp(argv[1], \"prove\"))\n        return mlp_program(argc, argv, model);\n"
          "    wrong = prove(model, arena);\n    printf(\"%s\\n\", wrong ? wrong : \"proved\");\n"
          "    return wrong != 0;\n}\n\n"
          "int main(int argc, char **argv)\n{\n", to);
    for (int i = 0; i < count; i++)
        fprintf(to, "    if (!strcmp(argv[1], \"%s\"))\n"
                    "        return use(argc - 1, argv + 1, &%s_model, %s_arena());\n",
                trials[i].network->name, trials[i].network->name, trials[i].network->name);
    fputs("    return 2;\n}\n", to);
    fclose(to);
}

static bool build(struct trial *trials, int count, const char *folder)
{
    const char *cc = getenv("CC");
    char *script = pool_text("exec %s -Og -ffp-contract=fast -I. -I'%s' -I'%s' -o program program.c prove.o",
                             cc ? cc : "gcc", setting.runtime, setting.here);
    write_dispatch(trials, count, folder);
    for (int i = 0; i < count; i++) {
        const char *name = trials[i].network->name;
        if (trials[i].wrong)
            continue;
        script = pool_text("%s %s_arena.c %s_x86_64*.c $(ls %s_weights.S 2>/dev/null)", script, name, name, name);
    }
    char *argv[] = {"sh", "-c", pool_text("%s '%s/libmlprt.a' -lm -lpthread", script, setting.runtime), NULL};
    char *proof[] = {"sh", "-c", pool_text("exec %s -O1 -I'%s' -c -o prove.o '%s/prove.c'", cc ? cc : "gcc",
                                           setting.runtime, setting.here), NULL};
    struct trial together = {.folder = folder};
    if (run(&together, "cc", proof) && run(&together, "cc", argv))
        return true;
    for (int i = 0; i < count; i++)
        wrong(&trials[i], "%s", together.wrong);
    return false;
}

/* Its own files are in a folder of its name, sources of all in the one above. */
static struct trial begin(const struct network *network, const char *folder)
{
    struct trial trial = {.network = network, .folder = pool_text("%s/%s", folder, network->name)};
    const char *error;
    trial.graph = expand(network, &error);
    trial.inputs = draw_inputs(trial.graph);
    trial.expected = evaluate(trial.graph, trial.inputs, ON_CPU);
    if (mkdir(trial.folder, 0777) || !write_network(trial.graph, trial.inputs, trial.folder)) {
        fprintf(stderr, "random_networks: cannot write into %s: %s\n", folder, strerror(errno));
        exit(3);
    }
    if (check_plan(&trial, "cpu", 64) && check_plan(&trial, "cuda", 256))
        emit(&trial);
    return trial;
}

static char *new_folder(void)
{
    char *folder = pool_text("%s/random.XXXXXX", setting.scratch);
    if (!mkdtemp(folder)) {
        fprintf(stderr, "random_networks: cannot make a folder in %s: %s\n", setting.scratch, strerror(errno));
        exit(3);
    }
    return folder;
}

static void remove_folder(const char *folder)
{
    char *argv[] = {"rm", "-rf", (char *)folder, NULL};
    free(command_run("/", argv, SECONDS).text);
}

static void run_trials(struct trial *trials, int count, const struct network *const *networks)
{
    char *folder = new_folder();
    int good = 0;
    struct trial *built[TOGETHER];
    for (int i = 0; i < count; i++) {
        trials[i] = begin(networks[i], folder);
        if (!trials[i].wrong)
            built[good++] = &trials[i];
    }
    struct trial together[TOGETHER];
    for (int i = 0; i < good; i++)
        together[i] = *built[i];
    bool done = setting.apart || (good && build(together, good, folder));
    for (int i = 0; i < good; i++) {
        built[i]->wrong = together[i].wrong;
        if (done)
            run_network(built[i]);
    }
    remove_folder(folder);
}

/* ---- Failures ---- */

static char failure[16];            /* its kind, which a smaller network must show too */

static bool fails_alike(const struct network *network)
{
    struct trial trial;
    run_trials(&trial, 1, &network);
    return trial.wrong && !strncmp(trial.wrong, failure, strlen(failure));
}

/* Where more than one network was compiled, one alone may be good. */
static void report(const struct trial *trial, FILE *to)
{
    struct trial alone;
    run_trials(&alone, 1, &trial->network);
    if (!alone.wrong && !strncmp(trial->wrong, "cc:", 3)) {
        tally.passed++;
        return;
    }
    snprintf(failure, sizeof failure, "%.*s", (int)strcspn(trial->wrong, ":"), trial->wrong);
    const struct network *least = shrink(trial->network, fails_alike, LONGEST_SHRINKING);
    tally.failed++;
    fprintf(to, "FAILED seed %llu: %s\n", (unsigned long long)trial->network->seed, trial->wrong);
    run_trials(&alone, 1, &least);
    fprintf(to, "with less (%d rows): %s\n", least->rows, alone.wrong ? alone.wrong : "fails at times");
    print_network(least, to);
    fflush(to);
}

/* ---- All of it ---- */

static void work(uint64_t seed, long count, long first, long step, FILE *to)
{
    for (long at = first * TOGETHER; at < count; at += step * TOGETHER) {
        const struct network *networks[TOGETHER];
        struct trial trials[TOGETHER];
        int good = 0, most = setting.apart ? 1 : TOGETHER;
        for (long next = at; next < at + TOGETHER && next < count;) {
            for (good = 0; good < most && next < at + TOGETHER && next < count; next++) {
                networks[good] = generate(seed + (uint64_t)next, setting.type);
                if (!networks[good])
                    tally.failed++,
                    fprintf(to, "FAILED seed %llu: no valid network\n", (unsigned long long)seed + next);
                else
                    good++;
            }
            run_trials(trials, good, networks);
            for (int i = 0; i < good; i++) {
                if (trials[i].wrong)
                    report(&trials[i], to);
                else
                    tally.passed++;
            }
            pool_free();
        }
    }
    fclose(to);
}

static void add_tally(const struct tally *part)
{
    tally.passed += part->passed;
    tally.failed += part->failed;
    tally.judged += part->judged;
    tally.elements += part->elements;
    tally.waste += part->waste;
    tally.most_waste = fmax(tally.most_waste, part->most_waste);
    tally.plans += part->plans;
    tally.chains += part->chains;
    tally.tolerances += part->tolerances;
}

static int run_workers(uint64_t seed, long count, int workers)
{
    int ends[2];
    struct tally part;
    if (pipe(ends))
        abort();
    for (int i = 0; i < workers; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0)
            abort();
        if (child == 0) {
            close(ends[0]);
            work(seed, count, i, workers, fdopen(dup(STDOUT_FILENO), "w"));
            _exit(write(ends[1], &tally, sizeof tally) != sizeof tally);
        }
    }
    close(ends[1]);
    int told = 0;
    for (; read(ends[0], &part, sizeof part) == sizeof part; told++)
        add_tally(&part);
    for (int status; wait(&status) > 0;)
        tally.failed += status != 0;
    tally.failed += workers - told;
    printf("%ld of %ld elements judged, at a relative tolerance of 1e%.1f in the geometric mean\n", tally.judged,
           tally.elements, tally.tolerances / (double)(tally.judged + !tally.judged));
    printf("%ld plans, %ld of chains; arenas take %.3f times what is alive at once, at most %.3f\n", tally.plans,
           tally.chains, tally.waste / (double)(tally.plans + !tally.plans), tally.most_waste);
    printf("random: %ld passed, %ld failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}

static int write_one(uint64_t seed, const char *folder)
{
    const char *error;
    const struct network *network = generate(seed, setting.type);
    if (!network)
        return 1;
    struct graph *graph = expand(network, &error);
    struct array_in *inputs = draw_inputs(graph);
    bool good = write_network(graph, inputs, folder) && write_expected(graph, evaluate(graph, inputs, ON_GPU), folder);
    if (!good)
        fprintf(stderr, "random_networks: cannot write into %s: %s\n", folder, strerror(errno));
    pool_free();
    return good ? 0 : 3;
}

static int type_of(const char *text)
{
    for (enum type type = F32; type <= BF16; type++) {
        if (!strcmp(text, type_name(type)))
            return (int)type;
    }
    return -1;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    long count = 100;
    int workers = (int)sysconf(_SC_NPROCESSORS_ONLN), option;
    const char *folder = NULL;
    while ((option = getopt(argc, argv, "n:s:j:t:w:x:")) != -1) {
        switch (option) {
        case 'n': count = atol(optarg); break;
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'j': workers = atoi(optarg); break;
        case 't': setting.type = type_of(optarg); break;
        case 'w': folder = optarg; break;
        case 'x': setting.apart = realpath(optarg, NULL); break;
        default: return 2;
        }
    }
    if (folder)
        return write_one(seed, folder);
    if (argc - optind != 3) {
        fputs("usage: random_networks [-n COUNT] [-s SEED] [-j WORKERS] [-t TYPE] [-x COMPILER] MLPC RUNTIME SCRATCH\n",
              stderr);
        return 2;
    }
    setting.mlpc = realpath(argv[optind], NULL);
    setting.runtime = realpath(argv[optind + 1], NULL);
    setting.scratch = realpath(argv[optind + 2], NULL);
    setting.here = realpath("tests/random", NULL);
    if (!setting.mlpc || !setting.runtime || !setting.scratch || !setting.here) {
        fprintf(stderr, "random_networks: %s\n", strerror(errno));
        return 2;
    }
    return run_workers(seed, count, workers);
}
