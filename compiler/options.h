/* The command line. */
#ifndef MLPC_OPTIONS_H
#define MLPC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"
#include "plan.h"

enum mode {
    MODE_SOURCES,                   /* sources into a folder */
    MODE_PROGRAM,                   /* --exe */
    MODE_LIBRARY,                   /* --lib */
    MODE_CHECK,                     /* --check: messages only */
    MODE_DUMP,                      /* --dump, --dot, --explain, --memory: text on standard output only */
    MODE_FORMAT,                    /* --format: the spec itself, in its one layout */
};

enum dump { DUMP_AST, DUMP_GRAPH, DUMP_FUSED, DUMP_PLAN, DUMP_MEMORY, DUMP_DOT, DUMP_EXPLAIN, DUMP_MAP, DUMP_SVG };

/* What becomes of a spec's layout. */
enum format { FORMAT_PRINT, FORMAT_CHECK, FORMAT_WRITE };

/* Which networks become one kernel (CUDA). */
enum whole {
    WHOLE_AUTO,                     /* as the plan file says, else by a rule */
    WHOLE_NEVER,
    WHOLE_ROWS, WHOLE_FEW,          /* in this form wherever that is possible */
    WHOLE_ALL,                      /* as AUTO, with all other forms beside it, for --tune to compare */
};

/* How a program is linked (CPU). */
enum linking {
    LINK_BY_RULE,                   /* statically where the C compiler has a static C library */
    LINK_STATIC, LINK_DYNAMIC,
};

/* A target of the rule for make: -MT gives it as it stands, -MQ as a name, which the rule quotes. */
struct depfile_target {
    const char *name;
    bool quote;
};

struct options {
    const char *input;              /* "-": standard input */
    VEC(const char *) more_inputs;  /* of --format alone */
    const char *output;             /* -o; NULL: the default of the mode */
    enum mode mode;
    enum dump dump;
    enum format format;
    enum target target;
    int threads;                    /* --threads */
    unsigned cpu_levels;            /* --cpu: as in struct plan */
    const char *weights;            /* --weights=FILE, or NULL */
    bool embed, external;           /* --weights=embed, --weights=external */
    bool random;                    /* --random-weights */
    uint64_t seed;
    const char *plan;               /* --plan=FILE, or NULL */
    enum whole whole;               /* --whole */
    const char *floor;              /* --floor, or NULL */
    bool locked;
    enum linking linking;           /* --static, --no-static */
    bool dependencies;              /* -M: a rule for make instead of an output */
    bool depfile;                   /* -MD: beside it */
    const char *depfile_path;       /* -MF */
    bool depfile_phony;             /* -MP: a rule without prerequisites for each file but the spec */
    VEC(struct depfile_target) depfile_targets; /* -MT, -MQ */
    unsigned given;                 /* a bit for each option with a value; options.c knows which */
    struct diag_options messages;
};

/* EXIT_DONE with *done set after --help and --version; EXIT_COMMAND_LINE after a message. */
enum exit_status options_parse(struct arena *arena, int argc, char **argv, struct options *options, bool *done);

#endif
