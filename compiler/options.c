#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

static const char help[] =
    "usage: mlpc [options] FILE.mlp        (- reads standard input)\n"
    "\n"
    "Compiles a network into C.\n"
    "\n"
    "  -o DIR                   sources into DIR (default .)\n"
    "  --exe -o PROGRAM         compiles and links a program too, with $CC (and $NVCC)\n"
    "  --lib -o DIR             compiles libNAME.a and NAME.h into DIR\n"
    "  --target=cuda|cpu        what runs it (default cuda)\n"
    "  --weights=FILE           takes the weights from this safetensors file, not the spec's\n"
    "  --weights=embed          packs the weights into the program (default)\n"
    "  --weights=external       writes NAME.weights, which the program reads at start\n"
    "  --random-weights=SEED    weights from a seed instead of a file\n"
    "  --locked                 a product without a plan is an error (exit status 4)\n"
    "  --check                  reports errors and warnings, writes nothing\n"
    "  --dump=ast|graph|fused|plan|memory   prints the network after a pass\n"
    "  --dot                    prints the graph for Graphviz\n"
    "  --explain                says for each step what was fused into it, and why no more\n"
    "  -M, -MD                  prints prerequisites for make; -MD writes them beside the output\n"
    "  -MF FILE, -MT TARGET     where -M and -MD write them; their target\n"
    "  -Werror                  warnings are errors\n"
    "  --color=auto|always|never\n"
    "  --version, --help\n"
    "\n"
    "Exit status: 0 done; 1 the spec or the weights are wrong; 2 the command line is wrong; 3 a file, the\n"
    "C compiler or the disk failed; 4 --locked found no plan.\n";

static enum exit_status wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static enum exit_status wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("mlpc: error: ", stderr);
    vfprintf(stderr, format, args);
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

static enum exit_status set_mode(struct options *options, enum mode mode)
{
    if (options->mode != MODE_SOURCES && options->mode != mode)
        return wrong("--exe, --lib, --check, --dump, --dot, --explain and -M exclude each other");
    options->mode = mode;
    return EXIT_DONE;
}

static enum exit_status set_dump(struct options *options, enum dump dump)
{
    if (options->mode == MODE_DUMP && options->dump != dump)
        return wrong("one of --dump, --dot and --explain at a time");
    options->dump = dump;
    return set_mode(options, MODE_DUMP);
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
        options->external = false;
    else if (!*text)
        return wrong("--weights= needs a file, embed or external");
    else
        options->weights = text;
    return EXIT_DONE;
}

/* Options of the form --name=value; -1 if it is none of them. */
static int parse_valued(struct options *options, const char *argument)
{
    static const char *const targets[] = {"cpu", "cuda", NULL};
    static const char *const dumps[] = {"ast", "graph", "fused", "plan", "memory", NULL};
    static const char *const colors[] = {"auto", "always", "never", NULL};
    const char *value;
    int index = 0;
    if ((value = value_of(argument, "--target"))) {
        if ((index = index_of(value, targets)) >= 0)
            options->target = index ? TARGET_CUDA : TARGET_CPU;
    } else if ((value = value_of(argument, "--dump"))) {
        if ((index = index_of(value, dumps)) >= 0)
            return (int)set_dump(options, (enum dump)index);
    } else if ((value = value_of(argument, "--color"))) {
        if ((index = index_of(value, colors)) >= 0)
            options->color = (enum diag_color)index;
    } else if ((value = value_of(argument, "--weights"))) {
        return (int)parse_weights(options, value);
    } else if ((value = value_of(argument, "--random-weights"))) {
        return (int)parse_seed(options, value);
    } else {
        return -1;
    }
    return index >= 0 ? EXIT_DONE : (int)wrong("'%s': no such choice", argument);
}

/* Options that stand alone; -1 if it is none of them. */
static int parse_flag(struct options *options, const char *argument)
{
    static const char *const flags[] = {"--exe", "--lib", "--check", "-M", "--dot", "--explain",
                                        "--locked", "-MD", "-Werror", NULL};
    switch (index_of(argument, flags)) {
    case 0:
        return (int)set_mode(options, MODE_PROGRAM);
    case 1:
        return (int)set_mode(options, MODE_LIBRARY);
    case 2:
        return (int)set_mode(options, MODE_CHECK);
    case 3:
        return (int)set_mode(options, MODE_DEPENDENCIES);
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
        options->warnings_are_errors = true;
        return EXIT_DONE;
    default:
        return -1;
    }
}

/* Options whose value is the next argument: where it goes, or NULL. */
static const char **next_argument(struct options *options, const char *argument)
{
    if (!strcmp(argument, "-o"))
        return &options->output;
    if (!strcmp(argument, "-MF"))
        return &options->depfile_path;
    if (!strcmp(argument, "-MT"))
        return &options->depfile_target;
    return NULL;
}

static enum exit_status parse_one(struct options *options, char **argv, int *at)
{
    const char *argument = argv[*at];
    const char **next = next_argument(options, argument);
    if (next) {
        if (!argv[*at + 1] || !*argv[*at + 1])
            return wrong("%s needs a value", argument);
        *next = argv[++*at];
        return EXIT_DONE;
    }
    int status = parse_flag(options, argument);
    if (status < 0)
        status = parse_valued(options, argument);
    if (status >= 0)
        return (enum exit_status)status;
    if (*argument == '-' && argument[1])
        return wrong("unknown option '%s'", argument);
    if (options->input)
        return wrong("two specs, '%s' and '%s'", options->input, argument);
    options->input = argument;
    return EXIT_DONE;
}

static enum exit_status check_together(const struct options *options)
{
    if (!options->input || !*options->input)
        return wrong("no spec given");
    if (options->weights && options->random)
        return wrong("--weights=FILE and --random-weights exclude each other");
    if ((options->depfile_path || options->depfile_target) && !options->depfile && options->mode != MODE_DEPENDENCIES)
        return wrong("-MF and -MT need -M or -MD");
    if (options->depfile && (options->mode == MODE_CHECK || options->mode == MODE_DUMP))
        return wrong("-MD needs an output");
    return EXIT_DONE;
}

enum exit_status options_parse(int argc, char **argv, struct options *options, bool *done)
{
    *options = (struct options){.target = TARGET_CUDA};
    *done = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version")) {
            *done = true;
            if (argv[i][2] == 'h')
                fputs(help, stdout);
            else
                puts("mlpc " MLPC_VERSION);
            return fflush(stdout) ? EXIT_ENVIRONMENT : EXIT_DONE;
        }
    }
    for (int i = 1; i < argc; i++) {
        enum exit_status status = parse_one(options, argv, &i);
        if (status != EXIT_DONE)
            return status;
    }
    return check_together(options);
}
