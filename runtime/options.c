/* argv turned into a command. Files belong to inputs and outputs: `x=in.npy` names which; with one input and one
 * output, two files without names will do. */
#include "command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "element.h"

enum { MOST_OPTIONS = 20 };

struct parser {
    mlp_command *command;
    const char *mode;               /* the option that chose it, or NULL */
    const char *batch;              /* as given, or NULL */
    const char **files;             /* those without a name */
    int file_count, named;
    int given[MOST_OPTIONS];        /* how often each option of the table has been seen */
};

/* ---- Options ---- */

static int choose(struct parser *parser, const char *option, mlp_mode mode)
{
    if (parser->mode && strcmp(parser->mode, option))
        return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s and %s exclude each other", parser->mode, option);
    parser->mode = option;
    parser->command->mode = mode;
    return 0;
}

static int number(const struct parser *parser, const char *option, const char *text, long least, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > INT_MAX)
        return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s: '%s' is not a number from %ld up", option, text,
                            least);
    return 0;
}

static int take_info(struct parser *parser, const char *text)
{
    (void)text;
    return choose(parser, "--info", MLP_MODE_INFO);
}

static int take_verify(struct parser *parser, const char *text)
{
    (void)text;
    return choose(parser, "--verify", MLP_MODE_VERIFY);
}

static int take_bench(struct parser *parser, const char *text)
{
    (void)text;
    return choose(parser, "--bench", MLP_MODE_BENCH);
}

static int take_profile(struct parser *parser, const char *text)
{
    (void)text;
    return choose(parser, "--profile", MLP_MODE_PROFILE);
}

static int take_batch(struct parser *parser, const char *text)
{
    long value;
    parser->batch = text;
    int status = number(parser, "--batch", text, 1, &value);
    parser->command->batch = status ? 0 : (size_t)value;
    return status;
}

static int take_json(struct parser *parser, const char *text)
{
    (void)text;
    parser->command->json = 1;
    return 0;
}

static int take_weights(struct parser *parser, const char *text)
{
    parser->command->options.weights = text;
    return 0;
}

static int take_threads(struct parser *parser, const char *text)
{
    long value;
    int status = number(parser, "--threads", text, 1, &value);
    const size_t most = parser->command->model->threads;
    parser->command->options.threads = status ? 0 : (int)value;
    if (!status && (size_t)value > most)
        status = mlp_complain(parser->command, MLP_EXIT_USAGE, "--threads %ld: this network was built for %zu", value,
                              most);
    return status;
}

static int take_device(struct parser *parser, const char *text)
{
    long value;
    int status = number(parser, "--device", text, 0, &value);
    parser->command->options.device = status ? 0 : (int)value;
    return status;
}

static int take_tune(struct parser *parser, const char *text)
{
    parser->command->plan = text;
    return choose(parser, "--tune", MLP_MODE_TUNE);
}

static int take_seconds(struct parser *parser, const char *text)
{
    long value;
    int status = number(parser, "--seconds", text, 1, &value);
    parser->command->seconds = status ? 0 : (size_t)value;
    return status;
}

static int take_forms(struct parser *parser, const char *text)
{
    (void)text;
    parser->command->forms = 1;
    return 0;
}

static int take_locked(struct parser *parser, const char *text)
{
    (void)text;
    parser->command->options.locked = 1;
    return 0;
}

static int take_help(struct parser *parser, const char *text)
{
    (void)text;
    parser->command->mode = MLP_MODE_HELP;
    return 0;
}

static int take_version(struct parser *parser, const char *text)
{
    (void)text;
    parser->command->mode = MLP_MODE_VERSION;
    return 0;
}

/* Which programs have a use for an option; help leaves it out of others, which take it all the same. */
enum use { OF_ALL, OF_CUDA, OF_THREADS };

static const struct option {
    const char *name, *value;       /* value: what follows it, or NULL */
    enum use use;
    int (*take)(struct parser *parser, const char *text);
    const char *help;               /* NULL: not shown */
} options[] = {
    {"--info", NULL, OF_ALL, take_info, "print inputs, outputs, steps and memory"},
    {"--verify", NULL, OF_ALL, take_verify, "compare every step with float64, on the inputs given or on random rows"},
    {"--bench", NULL, OF_ALL, take_bench, "time runs of random rows, for each batch size compiled in"},
    {"--profile", NULL, OF_ALL, take_profile, "time each step"},
    {"--batch", "N", OF_ALL, take_batch, "with --bench or --profile: N rows at a time"},
    {"--json", NULL, OF_ALL, take_json, "with --bench: print one JSON object"},
    {"--weights", "FILE", OF_ALL, take_weights, "read packed weights from FILE"},
    {"--threads", "N", OF_THREADS, take_threads, "let N threads share the work, of those that it was built for"},
    {"--device", "N", OF_CUDA, take_device, "use GPU number N"},
    {"--tune", "FILE", OF_CUDA, take_tune, "search the fastest plan of every product here, and keep them in FILE"},
    {"--seconds", "N", OF_CUDA, take_seconds, "with --tune: take about so long (60 unless told)"},
    {"--forms", NULL, OF_CUDA, take_forms, "with --tune: only compare the network's forms, with plans that are there"},
    {"--locked", NULL, OF_CUDA, take_locked, "a product whose compiled-in plan cannot be used is an error"},
    {"--help", NULL, OF_ALL, take_help, "print this; so does -h"},
    {"-h", NULL, OF_ALL, take_help, NULL},
    {"--version", NULL, OF_ALL, take_version, "print what the program was made from"},
};

enum { OPTIONS = sizeof options / sizeof *options };
_Static_assert((int)OPTIONS <= (int)MOST_OPTIONS, "room to count each option");

/* `--batch 8` and `--batch=8`; *used counts the arguments taken. */
static int take_option(struct parser *parser, char **argument, int *used)
{
    const char *text = *argument, *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    for (int i = 0; i < OPTIONS; i++) {
        const struct option *option = &options[i];
        if (strlen(option->name) != length || memcmp(option->name, text, length))
            continue;
        if (!option->value && equals)
            return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s takes no value", option->name);
        const char *value = equals ? equals + 1 : option->value ? argument[1] : NULL;
        if (option->value && !value)
            return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s needs %s", option->name, option->value);
        if (option->value && parser->given[i]++)
            return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s is given twice", option->name);
        *used = option->value && !equals ? 2 : 1;
        return option->take(parser, value);
    }
    return mlp_complain(parser->command, MLP_EXIT_USAGE, "unknown option %s; see --help", text);
}

/* ---- Files ---- */

static const mlp_port *find_port(const mlp_port *ports, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(ports[i].name) == length && !memcmp(ports[i].name, name, length))
            return &ports[i];
    return NULL;
}

/* All inputs, then all outputs. */
static const mlp_port *port_at(const mlp_model *model, size_t index)
{
    return index < model->input_count ? &model->inputs[index] : &model->outputs[index - model->input_count];
}

/* The place for the file of the input or output that `name` names, or NULL. */
static const char **file_place(const struct parser *parser, const char *name, size_t length)
{
    const mlp_command *command = parser->command;
    const mlp_model *model = command->model;
    const mlp_port *input = find_port(model->inputs, model->input_count, name, length);
    if (input)
        return &command->inputs[input - model->inputs];
    const mlp_port *output = find_port(model->outputs, model->output_count, name, length);
    return output ? &command->outputs[output - model->outputs] : NULL;
}

static int take_file(struct parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    const char **place = equals ? file_place(parser, text, (size_t)(equals - text)) : NULL;
    if (!place) {
        parser->files[parser->file_count++] = text;
        return 0;
    }
    if (*place)
        return mlp_complain(parser->command, MLP_EXIT_USAGE, "%.*s is given twice", (int)(equals - text), text);
    if (!equals[1])
        return mlp_complain(parser->command, MLP_EXIT_USAGE, "%s names no file", text);
    *place = equals + 1;
    parser->named++;
    return 0;
}

/* "x, y": of all inputs, then all outputs. The caller frees it. */
static char *port_names(const mlp_command *command)
{
    const mlp_model *model = command->model;
    const size_t count = model->input_count + model->output_count;
    size_t length = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        length += 2 + strlen(port_at(model, i)->name);
    char *names = mlp_take(command, length + 1, 1);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, length + 1 - used, "%s%s", i ? ", " : "", port_at(model, i)->name);
    return names;
}

static int complain_name(const mlp_command *command, const char *text)
{
    char *names = port_names(command);
    int status = mlp_complain(command, MLP_EXIT_USAGE, "there is no input or output '%.*s'; there are %s",
                              (int)strcspn(text, "="), text, names);
    free(names);
    return status;
}

static int complain_unnamed(const mlp_command *command, const char *file)
{
    char *names = port_names(command);
    int status = mlp_complain(command, MLP_EXIT_USAGE, "'%s': for which of %s? Write NAME=%s", file, names, file);
    free(names);
    return status;
}

/* Whether `text` looks like `name=file` with a name that there is not, rather than like a file. */
static int misnamed(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length = strspn(text, letters);
    return length > 0 && text[length] == '=' && access(text, F_OK);
}

static int without_names(const mlp_model *model)
{
    return model->input_count == 1 && model->output_count == 1;
}

/* Files without names go to the one input, and in a run to the one output. */
static int place_files(struct parser *parser)
{
    mlp_command *command = parser->command;
    const mlp_model *model = command->model;
    const int run = command->mode == MLP_MODE_RUN;
    if (!parser->file_count)
        return 0;
    for (int i = 0; i < parser->file_count; i++)
        if (misnamed(parser->files[i]) && (i == 0 || parser->named))
            return complain_name(command, parser->files[i]);
    if (!run && (size_t)(parser->file_count + parser->named) > model->input_count)
        return mlp_complain(command, MLP_EXIT_USAGE, "--verify takes inputs only");
    if (parser->named || (run ? !without_names(model) : model->input_count != 1))
        return complain_unnamed(command, parser->files[0]);
    if (parser->file_count > 2)
        return mlp_complain(command, MLP_EXIT_USAGE, "too many files: %s IN.npy OUT.npy", command->program);
    command->inputs[0] = parser->files[0];
    if (parser->file_count == 2)
        command->outputs[0] = parser->files[1];
    return 0;
}

static int missing(const struct parser *parser, const mlp_port *port, const char *what)
{
    const mlp_command *command = parser->command;
    if (without_names(command->model) && !parser->named)
        return mlp_complain(command, MLP_EXIT_USAGE, "no file for the %s %s: %s IN.npy OUT.npy", what, port->name,
                            command->program);
    return mlp_complain(command, MLP_EXIT_USAGE, "no file for the %s %s: add %s=FILE.npy", what, port->name,
                        port->name);
}

/* The folder that a path is in, as an absolute path without links; NULL where there is none. */
static char *folder_of(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    char *real = folder ? realpath(slash ? folder : ".", NULL) : NULL;
    free(folder);
    return real;
}

/* Whether two paths, of files that may not be there yet, mean the same place. */
static int same_file(const char *a, const char *b)
{
    struct stat first, second;
    if (!stat(a, &first) && !stat(b, &second))
        return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    char *folder_a = folder_of(a), *folder_b = folder_of(b);
    const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
    int same = folder_a && folder_b && !strcmp(folder_a, folder_b) &&
               !strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b);
    free(folder_a);
    free(folder_b);
    return same;
}

static int check_run(const struct parser *parser)
{
    const mlp_command *command = parser->command;
    const mlp_model *model = command->model;
    for (size_t i = 0; i < model->input_count; i++)
        if (!command->inputs[i])
            return missing(parser, &model->inputs[i], "input");
    for (size_t i = 0; i < model->output_count; i++) {
        if (!command->outputs[i])
            return missing(parser, &model->outputs[i], "output");
        for (size_t j = 0; j < i; j++)
            if (same_file(command->outputs[i], command->outputs[j]))
                return mlp_complain(command, MLP_EXIT_USAGE, "outputs %s and %s both go to %s", model->outputs[j].name,
                                    model->outputs[i].name, command->outputs[i]);
    }
    return 0;
}

/* --verify: files for all inputs, or for none. */
static int check_verify(const struct parser *parser)
{
    const mlp_command *command = parser->command;
    const mlp_model *model = command->model;
    size_t given = 0;
    for (size_t i = 0; i < model->output_count; i++)
        if (command->outputs[i])
            return mlp_complain(command, MLP_EXIT_USAGE, "--verify takes inputs only: %s is an output",
                                model->outputs[i].name);
    for (size_t i = 0; i < model->input_count; i++)
        given += command->inputs[i] != NULL;
    for (size_t i = 0; given && i < model->input_count; i++)
        if (!command->inputs[i])
            return missing(parser, &model->inputs[i], "input");
    return 0;
}

static int check(struct parser *parser)
{
    const mlp_command *command = parser->command;
    const mlp_mode mode = command->mode;
    if (command->json && mode != MLP_MODE_BENCH)
        return mlp_complain(command, MLP_EXIT_USAGE, "--json goes with --bench");
    if (command->forms && mode != MLP_MODE_TUNE)
        return mlp_complain(command, MLP_EXIT_USAGE, "--forms goes with --tune");
    if (command->seconds && mode != MLP_MODE_TUNE)
        return mlp_complain(command, MLP_EXIT_USAGE, "--seconds goes with --tune");
    if (parser->batch && mode != MLP_MODE_BENCH && mode != MLP_MODE_PROFILE)
        return mlp_complain(command, MLP_EXIT_USAGE, "--batch goes with --bench or --profile");
    if (mode != MLP_MODE_RUN && mode != MLP_MODE_VERIFY && (parser->named || parser->file_count))
        return mlp_complain(command, MLP_EXIT_USAGE, "%s takes no files", parser->mode);
    int status = place_files(parser);
    if (!status && mode == MLP_MODE_RUN)
        status = check_run(parser);
    if (!status && mode == MLP_MODE_VERIFY)
        status = check_verify(parser);
    return status;
}

static int parse(struct parser *parser, int argc, char **argv)
{
    int only_files = 0, used = 1;
    for (int i = 1; i < argc; i += used) {
        int status = 0;
        used = 1;
        if (only_files || argv[i][0] != '-')
            status = take_file(parser, argv[i]);
        else if (!strcmp(argv[i], "--"))
            only_files = 1;
        else
            status = take_option(parser, &argv[i], &used);
        if (status || parser->command->mode == MLP_MODE_HELP || parser->command->mode == MLP_MODE_VERSION)
            return status;
    }
    return check(parser);
}

int mlp_options_parse(mlp_command *command, int argc, char **argv)
{
    struct parser parser = {.command = command, .files = mlp_take(command, (size_t)argc, sizeof *parser.files)};
    command->inputs = mlp_take(command, command->model->input_count, sizeof *command->inputs);
    command->outputs = mlp_take(command, command->model->output_count, sizeof *command->outputs);
    int status = parse(&parser, argc, argv);
    free(parser.files);
    return status;
}

/* ---- Help ---- */

static void print_ports(const char *title, const mlp_port *ports, size_t count)
{
    printf("\n%s:\n", title);
    for (size_t i = 0; i < count; i++)
        printf("  %-18s %s[%zu]\n", ports[i].name, mlp_dtype_text(ports[i].dtype), ports[i].width);
}

static void print_usage(const mlp_command *command)
{
    const mlp_model *model = command->model;
    printf("usage: %s", command->program);
    for (size_t i = 0; i < model->input_count; i++)
        printf(" %s=FILE.npy", model->inputs[i].name);
    for (size_t i = 0; i < model->output_count; i++)
        printf(" %s=FILE.npy", model->outputs[i].name);
    if (model->input_count == 1 && model->output_count == 1)
        printf("\n       %s IN.npy OUT.npy", command->program);
    printf("\n       %s OPTION...\n", command->program);
}

static int is_useful(const mlp_model *model, const struct option *option)
{
    return option->use == OF_ALL || (option->use == OF_CUDA && model->target == MLP_CUDA) ||
           (option->use == OF_THREADS && model->threads > 1);
}

void mlp_options_help(const mlp_command *command)
{
    const int cuda = command->model->target == MLP_CUDA;
    print_usage(command);
    printf("\nReads any number of rows from .npy files, runs them through the network made from %s, and writes\n"
           "the rows that come out. `name=file` is the file of the input or output of that name; if there is none, it\n"
           "is the name of a file, as `./name=file` always is. No argument behind `--` is an option.\n",
           command->model->spec);
    print_ports("inputs", command->model->inputs, command->model->input_count);
    print_ports("outputs", command->model->outputs, command->model->output_count);
    printf("\noptions:\n");
    for (int i = 0; i < OPTIONS; i++) {
        char option[32];
        snprintf(option, sizeof option, "%s %s", options[i].name, options[i].value ? options[i].value : "");
        if (options[i].help && is_useful(command->model, &options[i]))
            printf("  %-18s %s\n", option, options[i].help);
    }
    printf("\n--verify: the bound of an element is the most by which honest f32 arithmetic may differ from float64.\n");
    printf("\nExit status: 0 done; 1 wrong content of a file, or --verify found a difference; 2 wrong command line;\n"
           "3 a file, the disk, %smemory failed%s.\n", cuda ? "the device or " : "or ",
           cuda ? "; 4 a product has no plan for this device" : "");
}
