/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, the entry that libFuzzer and AFL++
 * call; common/standalone.c calls it for files, once each. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold is a crash, which every engine keeps the input of. */
#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* A block that ends where the data end, so that nothing reads past them unseen: by an address checker, or by the page
 * behind it. A NUL follows only where `ends`. It is good until the next call. */
char *fuzz_copy(const uint8_t *data, size_t size, bool ends);

/* A text in the making: what is printed to `to`. */
struct fuzz_text {
    FILE *to;
    char *bytes;                    /* once closed; with a NUL behind it */
    size_t size;
};
void fuzz_text_open(struct fuzz_text *text);
void fuzz_text_close(struct fuzz_text *text);
void fuzz_text_free(struct fuzz_text *text);
/* The bytes of `a` are those of `b`. */
bool fuzz_text_same(const struct fuzz_text *a, const struct fuzz_text *b);

/* Standard output and standard error, as stdio has them, into texts and back. Sanitizers write past it. */
void fuzz_redirect(struct fuzz_text *out, struct fuzz_text *error);
void fuzz_restore(struct fuzz_text *out, struct fuzz_text *error);

/* A file in memory with these bytes: a path to read it by, which is good until the next call. */
const char *fuzz_file(const void *bytes, size_t size);
/* An empty folder of this process, which goes with it; the same one each time, emptied. */
const char *fuzz_folder(void);
/* Makes it the current one, and the one before again. */
void fuzz_enter_folder(void);
void fuzz_leave_folder(void);

/* Good UTF-8 whose only control characters are the ends of lines: nothing that a terminal obeys. */
bool fuzz_is_plain(const char *text, size_t size);
/* Plain, and as C all comments and literals end, and brackets match. */
bool fuzz_is_c(const char *text, size_t size);

#endif
