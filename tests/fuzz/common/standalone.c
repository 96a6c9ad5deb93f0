/* Runs a fuzz target once for each file that it is given, and for those of folders: TARGET FILE... */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { LONGEST = 1 << 20 };

static int count;

static void run_file(const char *path)
{
    static uint8_t data[LONGEST];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(data, 1, sizeof data, file) : 0;
    if (!file || ferror(file) || !feof(file)) {
        fprintf(stderr, "%s: cannot be read, or is larger than %d bytes\n", path, LONGEST);
        exit(1);
    }
    fclose(file);
    if (getenv("FUZZ_VERBOSE"))
        fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    count++;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run(const char *path)
{
    struct stat info;
    struct dirent **names;
    if (stat(path, &info) || !S_ISDIR(info.st_mode)) {
        run_file(path);
        return;
    }
    const int entries = scandir(path, &names, visible, alphasort);
    for (int i = 0; i < entries; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        run(inside);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    printf("%d files\n", count);
    return !count;
}
