#include "request.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../utf8.h"
#include "name.h"

static const char help[] =
    "usage: mlpc import [options] MODEL.onnx\n"
    "\n"
    "Turns an ONNX model into a spec, NAME.mlp, and its weights, NAME.safetensors.\n"
    "\n"
    "  -o DIR                   where they are written (default .)\n"
    "  --name=NAME              of the network (default: that of the file)\n"
    "  --output=NAME            imports this output and what it depends on; repeatable (default: all outputs)\n"
    "  --bind=NAME=FILE.npy     the input NAME becomes a constant, with this value\n"
    "  --batch=LIST             the batch sizes that the spec names (default: that of the model, or 1)\n"
    "  --keep-layout            leaves weights [in, out] as they are, and writes transposed=true\n"
    "  --check-with=IN.npy=OUT.npy   compiles the spec for the CPU and runs it: IN must give OUT. With several inputs\n"
    "                           or outputs, --check-with=NAME=FILE.npy for each input and each output to compare\n"
    "  --tolerance=T            differences up to T * max(1, the largest number of OUT) are good (default 1e-5; for\n"
    "                           f16 4e-3, for bf16 3e-2)\n"
    "\n"
    "Exit status: 0 done; 1 the model cannot be imported, or a check found a difference, and nothing was written;\n"
    "2 the command line is wrong; 3 a file, the C compiler or the disk failed.\n";

static enum exit_status wrong(const char *what, const char *argument)
{
    utf8_print_line(stderr, "mlpc: error: %s '%s' (see mlpc import --help)", what, argument);
    return EXIT_COMMAND_LINE;
}

static bool is_name(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c >= 0x80 || (!isalnum((unsigned char)*c) && *c != '_'))
            return false;
    }
    return *text && !isdigit((unsigned char)*text) && !name_is_reserved(text);
}

/* "1,128": whole numbers that the language takes. */
static bool is_batch(const char *text)
{
    char *end;
    for (;; text = end + 1) {
        text += strspn(text, " ");
        if (*text < '0' || *text > '9')
            return false;
        const unsigned long rows = strtoul(text, &end, 10);
        end += strspn(end, " ");
        if (rows < 1 || rows > INT32_MAX || (*end && *end != ','))
            return false;
        if (!*end)
            return true;
    }
}

/* Something, an equals sign and something more. */
static bool is_pair(const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && equals > text && equals[1];
}

static enum exit_status add_binding(struct request *request, const char *value)
{
    const char *equals = strchr(value, '=');
    if (!is_pair(value))
        return wrong("--bind= needs NAME=FILE.npy, not", value);
    struct binding binding = {.name = arena_copy(request->arena, value, (size_t)(equals - value)), .path = equals + 1};
    VEC_PUSH(request->arena, &request->bindings, binding);
    return EXIT_DONE;
}

enum valued { NAME, OUTPUT, BIND, BATCH, CHECK_WITH, TOLERANCE, NONE };

static enum exit_status set_value(struct request *request, enum valued option, const char *value)
{
    char *end;
    if (!*value)
        return wrong("an option needs a value:", value);
    switch (option) {
    case NAME:
        request->name = value;
        return is_name(value) ? EXIT_DONE : wrong("--name=: this is no name of the language:", value);
    case OUTPUT:
        VEC_PUSH(request->arena, &request->outputs, value);
        return EXIT_DONE;
    case BIND:
        return add_binding(request, value);
    case BATCH:
        request->batch = value;
        return is_batch(value) ? EXIT_DONE : wrong("--batch= needs whole numbers from 1 to 2147483647, with commas "
                                                   "between them, not", value);
    case CHECK_WITH:
        VEC_PUSH(request->arena, &request->checks, value);
        return is_pair(value) ? EXIT_DONE : wrong("--check-with= needs IN.npy=OUT.npy or NAME=FILE.npy, not", value);
    case TOLERANCE:
        request->tolerance = strtod(value, &end);
        return !*end && request->tolerance > 0 && isfinite(request->tolerance)
                   ? EXIT_DONE : wrong("--tolerance= needs a positive number, not", value);
    case NONE:
        break;
    }
    return EXIT_COMMAND_LINE;
}

/* --name=value or --name value. */
static enum valued option_of(char **argv, int *at, const char **value)
{
    static const char *const names[] = {"--name", "--output", "--bind", "--batch", "--check-with", "--tolerance"};
    for (enum valued i = NAME; i < NONE; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(argv[*at], names[i], length))
            continue;
        if (argv[*at][length] == '=') {
            *value = argv[*at] + length + 1;
            return i;
        }
        if (!argv[*at][length]) {
            *value = argv[*at + 1] ? argv[++*at] : "";
            return i;
        }
    }
    return NONE;
}

static enum exit_status parse_one(struct request *request, char **argv, int *at)
{
    const char *argument = argv[*at], *value = NULL;
    enum valued option = option_of(argv, at, &value);
    if (option != NONE)
        return set_value(request, option, value);
    if (!strcmp(argument, "--keep-layout")) {
        request->keep_layout = true;
    } else if (!strcmp(argument, "-o")) {
        if (!argv[*at + 1] || !*argv[*at + 1])
            return wrong("this option needs a value:", argument);
        request->folder = argv[++*at];
    } else if (*argument == '-') {
        return wrong("unknown option", argument);
    } else if (request->input) {
        return wrong("a second model,", argument);
    } else {
        request->input = argument;
    }
    return EXIT_DONE;
}

enum exit_status request_parse(int argc, char **argv, struct request *request, bool *done)
{
    *done = false;
    request->folder = ".";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            *done = true;
            fputs(help, stdout);
            return EXIT_DONE;
        }
    }
    for (int i = 1; i < argc; i++) {
        enum exit_status status = parse_one(request, argv, &i);
        if (status != EXIT_DONE)
            return status;
    }
    return request->input && *request->input ? EXIT_DONE : wrong("no model is given:", "");
}
