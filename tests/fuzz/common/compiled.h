/* One compilation in this process, from a spec in memory to texts in memory, with what must hold of each. */
#ifndef FUZZ_COMPILED_H
#define FUZZ_COMPILED_H

#include "compile.h"
#include "fuzz.h"

struct compiled {
    enum exit_status status;
    struct fuzz_text messages;      /* what standard error would show */
    struct fuzz_text results;       /* all files with their names, or a dump */
};

/* `argv`: a command line, NULL at its end, that names the spec, of which this is the text. Options that name plan files
 * count for nothing. Free the result. */
void fuzz_compile(struct compiled *compiled, const char *const *argv, const char *text, size_t size);
void fuzz_compiled_free(struct compiled *compiled);

#endif
