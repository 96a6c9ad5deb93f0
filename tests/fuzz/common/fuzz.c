#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Past stdio, whose streams may be redirected. */
void fuzz_fail(const char *file, int line, const char *condition)
{
    dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* There with AddressSanitizer alone. */
void __asan_init(void) __attribute__((weak));

/* Bytes in front of a page that nobody may touch. */
static char *guarded(size_t size)
{
    static char *map;
    static size_t mapped;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    if (map)
        munmap(map, mapped);
    mapped = whole + page;
    map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED && !mprotect(map + whole, page, PROT_NONE));
    return map + whole - size;
}

/* Watched by AddressSanitizer, on both sides. */
static char *allocated(size_t size)
{
    static char *block;
    free(block);
    block = malloc(size ? size : 1);
    REQUIRE(block);
    return block;
}

char *fuzz_copy(const uint8_t *data, size_t size, bool ends)
{
    char *copy = __asan_init ? allocated(size + ends) : guarded(size + ends);
    if (size)
        memcpy(copy, data, size);
    if (ends)
        copy[size] = '\0';
    return copy;
}

/* ---- Texts ---- */

void fuzz_text_open(struct fuzz_text *text)
{
    text->bytes = NULL;
    text->to = open_memstream(&text->bytes, &text->size);
    REQUIRE(text->to);
}

void fuzz_text_close(struct fuzz_text *text)
{
    REQUIRE(!ferror(text->to) && !fclose(text->to));
    text->to = NULL;
}

void fuzz_text_free(struct fuzz_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
}

bool fuzz_text_same(const struct fuzz_text *a, const struct fuzz_text *b)
{
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static FILE *usual_out, *usual_error;

void fuzz_redirect(struct fuzz_text *out, struct fuzz_text *error)
{
    fuzz_text_open(out);
    fuzz_text_open(error);
    usual_out = stdout;
    usual_error = stderr;
    stdout = out->to;
    stderr = error->to;
}

void fuzz_restore(struct fuzz_text *out, struct fuzz_text *error)
{
    stdout = usual_out;
    stderr = usual_error;
    fuzz_text_close(out);
    fuzz_text_close(error);
}

/* ---- Files ---- */

const char *fuzz_file(const void *bytes, size_t size)
{
    static char path[64];
    static int file = -1;
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    REQUIRE(file >= 0 && !ftruncate(file, 0) && pwrite(file, bytes, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

static void empty(const char *path)
{
    DIR *folder = opendir(path);
    REQUIRE(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0))
            REQUIRE(!unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR));
    }
    closedir(folder);
}

static char own_folder[256];

static void remove_folder(void)
{
    empty(own_folder);
    rmdir(own_folder);
}

const char *fuzz_folder(void)
{
    const char *above = getenv("TMPDIR");
    if (*own_folder) {
        empty(own_folder);
        return own_folder;
    }
    above = above ? above : access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    REQUIRE(snprintf(own_folder, sizeof own_folder, "%s/fuzz.XXXXXX", above) < (int)sizeof own_folder);
    REQUIRE(mkdtemp(own_folder) && !atexit(remove_folder));
    return own_folder;
}

static int usual_folder;

void fuzz_enter_folder(void)
{
    usual_folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(usual_folder >= 0 && !chdir(fuzz_folder()));
}

void fuzz_leave_folder(void)
{
    REQUIRE(!fchdir(usual_folder) && !close(usual_folder));
}

/* ---- Texts that others read ---- */

/* Bytes of the character at `at`, or 0 where it is none (RFC 3629). */
static size_t character(const unsigned char *at, size_t left)
{
    const bool two = *at >= 0xc2 && *at < 0xe0, three = (*at & 0xf0) == 0xe0, four = *at >= 0xf0 && *at < 0xf5;
    const size_t size = *at < 0x80 ? 1 : two ? 2 : three ? 3 : four ? 4 : 0;
    if (!size || size > left)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    const bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
    const bool surrogate = *at == 0xed && at[1] > 0x9f, beyond = *at == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : size;
}

bool fuzz_is_plain(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t used; size; at += used, size -= used) {
        used = character(at, size);
        const bool control = (*at < 0x20 && *at != '\n') || *at == 0x7f || (*at == 0xc2 && used == 2 && at[1] < 0xa0);
        if (!used || control)
            return false;
    }
    return true;
}

/* The first byte behind a literal or a comment that begins at `at`; `at` itself where there is none, NULL where it does
 * not end. */
static const char *skip_text(const char *at, const char *end)
{
    if (*at == '/' && at + 1 < end && at[1] == '*') {
        const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
        return close ? close + 2 : NULL;
    }
    if (*at != '"' && *at != '\'')
        return at;
    const char quote = *at++;
    for (; at < end && *at != '\n' && *at != quote; at++) {
        if (*at == '\\' && ++at == end)
            return NULL;
    }
    return at < end && *at == quote ? at + 1 : NULL;
}

bool fuzz_is_c(const char *text, size_t size)
{
    static const char opening[] = "([{", closing[] = ")]}";
    char open[64];
    size_t depth = 0;
    const char *end = text + size;
    if (!size || end[-1] != '\n' || !fuzz_is_plain(text, size))
        return false;
    for (const char *at = text; at < end;) {
        const char *behind = skip_text(at, end), *which;
        if (!behind || *at < 0)
            return false;
        if (behind > at) {
            at = behind;
            continue;
        }
        if ((which = strchr(opening, *at))) {
            if (depth == sizeof open)
                return false;
            open[depth++] = closing[which - opening];
        } else if (strchr(closing, *at) && (!depth || open[--depth] != *at)) {
            return false;
        }
        at++;
    }
    return !depth;
}
