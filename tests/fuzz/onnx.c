/* Fuzzes `mlpc import`: a model gives a spec that compiles with its weights, without a warning of mistakes in it, or a
 * reason and no files. */
#include "onnx/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/compiled.h"

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && !fclose(file));
}

static void compile_spec(const char *path)
{
    struct arena *arena = arena_new();
    size_t size;
    const char *text = input_read(arena, NULL, path, &size);
    const char *argv[] = {"mlpc", "--target=cpu", path, NULL};
    struct compiled compiled;
    REQUIRE(text && fuzz_is_plain(text, size));
    fuzz_compile(&compiled, argv, text, size);
    REQUIRE(compiled.status == EXIT_DONE);
    fuzz_compiled_free(&compiled);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[] = {"import", "--name=m", "in.onnx", NULL};
    struct fuzz_text out, messages;
    fuzz_enter_folder();
    write_file("in.onnx", data, size);
    fuzz_redirect(&out, &messages);
    const int status = import_main(sizeof argv / sizeof *argv - 1, argv);
    fuzz_restore(&out, &messages);
    REQUIRE((status == EXIT_DONE || status == EXIT_USER) && (status == EXIT_DONE || messages.size));
    REQUIRE(fuzz_is_plain(messages.bytes, messages.size));
    if (status == EXIT_DONE)
        compile_spec("m.mlp");
    else
        REQUIRE(access("m.mlp", F_OK) && access("m.safetensors", F_OK));
    fuzz_leave_folder();
    fuzz_text_free(&out);
    fuzz_text_free(&messages);
    return 0;
}
