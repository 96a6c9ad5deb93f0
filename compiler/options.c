#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "nearest.h"
#include "utf8.h"
#include "version.h"
#include "warnings.h"

static const char help[] =
    "usage: mlpc [options] FILE.mlp        (- reads standard input)\n"
    "       mlpc import MODEL.onnx          a spec and its weights from an ONNX model: see mlpc import --help\n"
    "\n"
    "Compiles a network into C.\n"
    "\n"
    "  -o DIR                   sources into DIR (default .)\n"
    "  --exe -o PROGRAM         compiles and links a program, with $CC (and $NVCC); without -o by the model's name\n"
    "  --static, --no-static    links the program with static libraries, or not; unless told, a CPU's program is\n"
    "                           static where the C compiler has a static C library\n"
    "  --lib -o DIR             compiles libNAME.a and NAME.h into DIR (default .)\n"
    "  --target=cuda|cpu        what runs it (default cuda)\n"
    "  --cpu=LIST               the processors that a CPU network is compiled for, whose program takes the best it\n"
    "                           finds: of x86-64, x86-64-v2, v3, v4 (default x86-64,v3,v4); native: as $CC is told\n"
    "  --threads=N              a CPU network that N threads can share (default 1)\n"
    "  --weights=FILE           takes the weights from this safetensors file, not the spec's\n"
    "  --weights=embed          packs the weights into the program (default where there are any)\n"
    "  --weights=external       writes them to NAME.weights, which the program reads at start\n"
    "  --random-weights=SEED    weights from a seed instead of a file\n"
    "  --plan=FILE              compiles in the tuned plans of products that FILE holds (a program's --tune makes it)\n"
    "  --locked                 a product without a plan is an error (exit status 4), here and when programs start\n"
    "  --whole=auto|never|rows|few|all   which batch sizes of a CUDA network become one kernel: as the plan file or\n"
    "                           a rule says, none, all that can in one form; all: every form, for --tune to compare\n"
    "  --check                  reports errors and warnings, writes nothing\n"
    "  --format[=check|write]   prints specs in their one layout; names those that differ (status 1); rewrites them\n"
    "  --dump=ast|graph|fused|plan|memory   prints the network after a pass\n"
    "  --dot                    prints the graph for Graphviz\n"
    "  --explain                says for each step what was fused into it, why no more, and the least time it takes\n"
    "  --memory[=svg]           prints a map of the memory over the steps, as text or as a picture\n"
    "  --floor=DEVICE           on which device: H200 (default for cuda), H100, A100, L40S, RTX4090; core (default\n"
    "                           for cpu): one with AVX2 at 3 GHz; or GB/s,GFLOP/s, as in --floor=50,200\n"
    "  -M, -MD                  prints prerequisites for make; -MD writes them beside the output\n"
    "  -MF FILE                 where -M and -MD write them\n"
    "  -MT TARGET, -MQ TARGET   what they are for; -MQ quotes it for make\n"
    "  -MP                      a rule without prerequisites for each file but the spec, so that they may go away\n"
    "  -Wall, -WNAME, -Wno-NAME   shows all warnings, this one, or not this one\n"
    "  -Werror, -Werror=NAME    warnings are errors, or this one is; -Wno-error=NAME: this one is none\n"
    "  --error-limit=N          shows at most N errors, and N warnings (default 20; 0: all)\n"
    "  --color=auto|always|never\n"
    "  --diagnostics-format=text|sarif   messages for people, or as one SARIF document on standard error\n"
    "  --version, --help, -h\n"
    "\n"
    "Exit status: 0 done; 1 the spec or the weights are wrong; 2 the command line is wrong; 3 a file, the\n"
    "C compiler or the disk failed; 4 --locked found no plan.\n";

static enum exit_status wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static enum exit_status wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("mlpc: error: ", stderr);
    utf8_print_list(stderr, format, args);
    fputs(" (see mlpc --help)\n", stderr);
    va_end(args);
    return EXIT_COMMAND_LINE;
}

/* "--name=value": the value, or NULL if the argument is not of that name. */
static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(argument, name, length) && argument[length] == '=' ? argument + length + 1 : NULL;
}

static int index_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        if (!strcmp(word, words[i]))
            return i;
    }
    return -1;
}

static const char *const mode_text[] = {
    [MODE_PROGRAM] = "--exe", [MODE_LIBRARY] = "--lib", [MODE_CHECK] = "--check", [MODE_FORMAT] = "--format",
    [MODE_DUMP] = "--dump (or --dot, --explain, --memory)",
};

static enum exit_status set_mode(struct options *options, enum mode mode)
{
    if (options->mode != MODE_SOURCES && options->mode != mode)
        return wrong("%s and %s exclude each other", mode_text[options->mode], mode_text[mode]);
    options->mode = mode;
    return EXIT_DONE;
}

static enum exit_status set_dump(struct options *options, enum dump dump)
{
    if (options->mode == MODE_DUMP && options->dump != dump)
        return wrong("one of --dump, --dot, --explain and --memory at a time");
    options->dump = dump;
    return set_mode(options, MODE_DUMP);
}

static enum exit_status set_format(struct options *options, enum format format)
{
    if (options->mode == MODE_FORMAT && options->format != format)
        return wrong("one form of --format at a time");
    options->format = format;
    return set_mode(options, MODE_FORMAT);
}

static enum exit_status set_linking(struct options *options, enum linking linking)
{
    if (options->linking != LINK_BY_RULE && options->linking != linking)
        return wrong("--static and --no-static exclude each other");
    options->linking = linking;
    return EXIT_DONE;
}

static enum exit_status parse_seed(struct options *options, const char *text)
{
    char *end;
    errno = 0;
    options->random = true;
    options->seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return wrong("--random-weights=%s: a seed is a whole number from 0 to 2^64 - 1", text);
    return EXIT_DONE;
}

static enum exit_status parse_weights(struct options *options, const char *text)
{
    if (!strcmp(text, "external"))
        options->external = true;
    else if (!strcmp(text, "embed"))
        options->embed = true;
    else if (!*text)
        return wrong("--weights= needs a file, embed or external");
    else
        options->weights = text;
    return EXIT_DONE;
}

static const char *const targets[] = {"cpu", "cuda", NULL};
static const char *const dumps[] = {"ast", "graph", "fused", "plan", "memory", NULL};
static const char *const wholes[] = {"auto", "never", "rows", "few", "all", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const forms[] = {"text", "sarif", NULL};

static enum exit_status no_such_choice(const char *name, const char *value, const char *const *choices)
{
    char list[128] = "";
    for (int i = 0; choices[i]; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", choices[i]);
    return wrong("%s=%s: it is one of %s", name, value, list);
}

static enum exit_status choose(const char *name, const char *value, const char *const *choices, int *choice)
{
    *choice = index_of(value, choices);
    return *choice < 0 ? no_such_choice(name, value, choices) : EXIT_DONE;
}

/* An option alone (*choice is 0), or with a value behind a '=' (from 1 on); -1 if the argument is another. */
static int parse_optional(const char *argument, const char *name, const char *const *choices, int *choice)
{
    const char *value = value_of(argument, name);
    *choice = -1;
    enum exit_status status = value ? choose(name, value, choices, choice) : EXIT_DONE;
    ++*choice;
    return value || !strcmp(argument, name) ? (int)status : -1;
}

static int parse_format(struct options *options, const char *argument)
{
    static const char *const formats[] = {"check", "write", NULL};
    int choice, status = parse_optional(argument, "--format", formats, &choice);
    return status == EXIT_DONE ? (int)set_format(options, (enum format)choice) : status;
}

static int parse_memory(struct options *options, const char *argument)
{
    static const char *const maps[] = {"text", "svg", NULL};
    int choice, status = parse_optional(argument, "--memory", maps, &choice);
    return status == EXIT_DONE ? (int)set_dump(options, choice == 2 ? DUMP_SVG : DUMP_MAP) : status;
}

static enum exit_status parse_threads(struct options *options, const char *text)
{
    char *end;
    long threads = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || threads < 1 || threads > MOST_THREADS)
        return wrong("--threads=%s: a number from 1 to %d", text, MOST_THREADS);
    options->threads = (int)threads;
    return EXIT_DONE;
}

static enum exit_status parse_limit(struct options *options, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long limit = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || limit > SIZE_MAX)
        return wrong("--error-limit=%s: a number of errors, or 0 for all", text);
    options->messages.limited = true;
    options->messages.limit = (size_t)limit;
    return EXIT_DONE;
}

/* -W... */
static enum exit_status parse_warning(struct arena *arena, struct options *options, const char *text)
{
    const char *problem = warnings_set(&options->messages, arena, text);
    return problem ? wrong("%s", problem) : EXIT_DONE;
}

/* "x86-64,v3", or native alone. */
static enum exit_status parse_levels(struct options *options, const char *list)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "v2", "v3", "v4", NULL};
    options->cpu_levels = 0;
    if (!strcmp(list, "native"))
        return EXIT_DONE;
    for (size_t length = 0;; list += length + 1) {
        char word[16] = "";
        length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), list);
        int level = index_of(word, levels);
        if (level < 0)
            return wrong("--cpu=%s: a list of x86-64, x86-64-v2, v3, v4, or native alone", list);
        options->cpu_levels |= 1u << (level < CPU_LEVELS ? level + 1 : level - CPU_LEVELS + 2);
        if (!list[length])
            return EXIT_DONE;
    }
}

enum valued {
    TARGET, CPU, THREADS, DUMP, COLOR, DIAGNOSTICS_FORMAT, ERROR_LIMIT,
    WEIGHTS, RANDOM_WEIGHTS, WHOLE, FLOOR, PLAN,
};

static const char *const valued_names[] = {
    "--target", "--cpu", "--threads", "--dump", "--color", "--diagnostics-format", "--error-limit",
    "--weights", "--random-weights", "--whole", "--floor", "--plan", NULL,
};

static enum exit_status parse_value(struct options *options, enum valued option, const char *value)
{
    const char *name = valued_names[option];
    enum exit_status status = EXIT_DONE;
    int choice = 0;
    switch (option) {
    case TARGET:
        status = choose(name, value, targets, &choice);
        options->target = choice ? TARGET_CUDA : TARGET_CPU;
        return status;
    case CPU:
        return parse_levels(options, value);
    case THREADS:
        return parse_threads(options, value);
    case DUMP:
        status = choose(name, value, dumps, &choice);
        return status == EXIT_DONE ? set_dump(options, (enum dump)choice) : status;
    case COLOR:
        status = choose(name, value, colors, &choice);
        options->messages.color = (enum diag_color)choice;
        return status;
    case DIAGNOSTICS_FORMAT:
        status = choose(name, value, forms, &choice);
        options->messages.form = (enum diag_form)choice;
        return status;
    case ERROR_LIMIT:
        return parse_limit(options, value);
    case WEIGHTS:
        return parse_weights(options, value);
    case RANDOM_WEIGHTS:
        return parse_seed(options, value);
    case WHOLE:
        status = choose(name, value, wholes, &choice);
        options->whole = (enum whole)choice;
        return status;
    case FLOOR:
        options->floor = value;
        return EXIT_DONE;
    case PLAN:
        break;
    }
    options->plan = value;
    return *value ? EXIT_DONE : wrong("--plan= needs a file");
}

/* --name=value or --name value; -1 if it is none of them. */
static int parse_valued(struct options *options, char **argv, int *at)
{
    for (int i = 0; valued_names[i]; i++) {
        const char *value = value_of(argv[*at], valued_names[i]);
        if (!value && !strcmp(argv[*at], valued_names[i])) {
            if (!argv[*at + 1])
                return (int)wrong("%s needs a value", argv[*at]);
            value = argv[++*at];
        }
        if (value) {
            options->given |= 1u << i;
            return (int)parse_value(options, (enum valued)i, value);
        }
    }
    return -1;
}

static const char *const flags[] = {"--exe",    "--lib", "--check",  "-M",          "--dot", "--explain",
                                    "--locked", "-MD",   "--static", "--no-static", "-MP",   NULL};

/* Options that stand alone; -1 if it is none of them. */
static int parse_flag(struct options *options, const char *argument)
{
    switch (index_of(argument, flags)) {
    case 0:
        return (int)set_mode(options, MODE_PROGRAM);
    case 1:
        return (int)set_mode(options, MODE_LIBRARY);
    case 2:
        return (int)set_mode(options, MODE_CHECK);
    case 3:
        options->dependencies = true;
        return EXIT_DONE;
    case 4:
        return (int)set_dump(options, DUMP_DOT);
    case 5:
        return (int)set_dump(options, DUMP_EXPLAIN);
    case 6:
        options->locked = true;
        return EXIT_DONE;
    case 7:
        options->depfile = true;
        return EXIT_DONE;
    case 8:
        return (int)set_linking(options, LINK_STATIC);
    case 9:
        return (int)set_linking(options, LINK_DYNAMIC);
    case 10:
        options->depfile_phony = true;
        return EXIT_DONE;
    default:
        return -1;
    }
}

/* Options whose value is the next argument, for make's also the rest of this one, as gcc has it; -1 if it is none. */
static int parse_short(struct arena *arena, struct options *options, char **argv, int *at)
{
    static const char *const names[] = {"-o", "-MF", "-MT", "-MQ", NULL};
    const char *argument = argv[*at];
    for (int i = 0; names[i]; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(argument, names[i], length) || (i == 0 && argument[length]))
            continue;
        const char *value = argument[length] ? argument + length : argv[*at + 1];
        if (!value || !*value)
            return (int)wrong("%s needs a value", names[i]);
        *at += !argument[length];
        if (i == 0)
            options->output = value;
        else if (i == 1)
            options->depfile_path = value;
        else
            VEC_PUSH(arena, &options->depfile_targets, ((struct depfile_target){.name = value, .quote = i == 3}));
        return EXIT_DONE;
    }
    return -1;
}

static enum exit_status unknown(struct arena *arena, const char *option)
{
    const char *name = arena_copy(arena, option, strcspn(option, "="));
    struct nearest nearest = nearest_to(name);
    for (int i = 0; flags[i]; i++)
        nearest_offer(&nearest, flags[i]);
    for (int i = 0; valued_names[i]; i++)
        nearest_offer(&nearest, valued_names[i]);
    return wrong("unknown option '%s'%s", option, nearest_text(arena, &nearest));
}

static enum exit_status parse_one(struct arena *arena, struct options *options, char **argv, int *at)
{
    const char *argument = argv[*at];
    if (!strncmp(argument, "-W", 2))
        return parse_warning(arena, options, argument + 2);
    int status = parse_short(arena, options, argv, at);
    if (status < 0)
        status = parse_flag(options, argument);
    if (status < 0)
        status = parse_format(options, argument);
    if (status < 0)
        status = parse_memory(options, argument);
    if (status < 0)
        status = parse_valued(options, argv, at);
    if (status >= 0)
        return (enum exit_status)status;
    if (*argument == '-' && argument[1])
        return unknown(arena, argument);
    if (options->input)
        VEC_PUSH(arena, &options->more_inputs, argument);
    else
        options->input = argument;
    return EXIT_DONE;
}

/* --floor: a device of the target, or figures of the user's own. */
static enum exit_status check_floor(const struct options *options)
{
    struct device own;
    const struct device *device = device_find(options->floor);
    if (options->mode != MODE_DUMP || options->dump != DUMP_EXPLAIN)
        return wrong("--floor goes with --explain");
    if (!device && !device_parse(options->floor, &own))
        return wrong("--floor=%s: one of %s, or two numbers, GB/s,GFLOP/s", options->floor, device_names());
    if (device && device->target != options->target)
        return wrong("--floor=%s is for --target=%s", options->floor, targets[device->target]);
    return EXIT_DONE;
}

/* --format takes any number of specs, and makes nothing else. */
static enum exit_status check_format(const struct options *options)
{
    bool standard = !strcmp(options->input, "-");
    for (size_t i = 0; i < options->more_inputs.count; i++)
        standard = standard || !strcmp(options->more_inputs.at[i], "-");
    if (options->format == FORMAT_WRITE && standard)
        return wrong("--format=write needs files");
    if (options->output || options->depfile || options->dependencies)
        return wrong("--format prints the spec, --format=write writes it in its place: -o, -M and -MD have no meaning");
    return EXIT_DONE;
}

static enum exit_status check_target(const struct options *options)
{
    static const enum valued of_cpu[] = {CPU, THREADS};
    for (size_t i = 0; i < sizeof of_cpu / sizeof *of_cpu; i++) {
        if (options->given & 1u << of_cpu[i] && options->target != TARGET_CPU)
            return wrong("%s is for --target=cpu", valued_names[of_cpu[i]]);
    }
    if (options->given & 1u << WHOLE && options->target != TARGET_CUDA)
        return wrong("--whole is for --target=cuda");
    if (options->locked && options->target != TARGET_CUDA)
        return wrong("--locked is for --target=cuda: a CPU's products have no plans");
    return EXIT_DONE;
}

static enum exit_status check_together(const struct options *options)
{
    if (!options->input || !*options->input)
        return wrong("no spec given");
    if (options->more_inputs.count && options->mode != MODE_FORMAT)
        return wrong("two specs, '%s' and '%s'", options->input, options->more_inputs.at[0]);
    if (options->more_inputs.count && options->messages.form == DIAG_SARIF)
        return wrong("--diagnostics-format=sarif is about one spec");
    if (check_target(options) != EXIT_DONE)
        return EXIT_COMMAND_LINE;
    if (options->weights && options->random)
        return wrong("--weights=FILE and --random-weights exclude each other");
    if (options->plan && options->target != TARGET_CUDA)
        return wrong("--plan is for --target=cuda: a CPU's products have no plans");
    if (options->linking != LINK_BY_RULE && options->mode != MODE_PROGRAM)
        return wrong("--static and --no-static are about programs (--exe)");
    if (options->linking == LINK_STATIC && options->target != TARGET_CPU)
        return wrong("--static is for --target=cpu: a CUDA program needs the driver's library where it runs");
    if (options->embed && options->external)
        return wrong("--weights=embed and --weights=external exclude each other");
    if ((options->depfile_path || options->depfile_targets.count || options->depfile_phony) && !options->depfile &&
        !options->dependencies)
        return wrong("-MF, -MT, -MQ and -MP need -M or -MD");
    if ((options->depfile || options->dependencies) && (options->mode == MODE_CHECK || options->mode == MODE_DUMP))
        return wrong("-M and -MD are about outputs, %s writes none", mode_text[options->mode]);
    if (options->mode == MODE_FORMAT)
        return check_format(options);
    return options->floor ? check_floor(options) : EXIT_DONE;
}

enum exit_status options_parse(struct arena *arena, int argc, char **argv, struct options *options, bool *done)
{
    *options = (struct options){.target = TARGET_CUDA, .cpu_levels = 1u << 1 | 1u << 3 | 1u << 4, .threads = 1};
    *done = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h") || !strcmp(argv[i], "--version")) {
            *done = true;
            if (strcmp(argv[i], "--version"))
                fputs(help, stdout);
            else
                puts("mlpc " MLPC_VERSION);
            return EXIT_DONE;
        }
    }
    for (int i = 1; i < argc; i++) {
        enum exit_status status = parse_one(arena, options, argv, &i);
        if (status != EXIT_DONE)
            return status;
    }
    return check_together(options);
}
