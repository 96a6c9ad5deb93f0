/* Fuzzes the reader of safetensors files: what it takes is covered by its tensors and has the sizes that it says; and a
 * network is compiled with the file, whose tensors are checked, computed and packed. */
#include "safetensors.h"

#include <string.h>

#include "common/compiled.h"

/* Its tensors: see tests/fuzz/safetensors/network. */
static const char spec[] =
    "model m {\n"
    "    batch 1, 4;\n"
    "    dtype f16;\n"
    "    weights \"w.safetensors\";\n"
    "    input x: f32[3];\n"
    "    h = batchnorm(linear(x, 2, \"a\"), \"bn\");\n"
    "    h = layernorm(h, \"ln\") + param(\"p\", 2);\n"
    "    output y = linear(h, 1, \"b\", bias=false, transposed=true);\n"
    "}\n";

static void check_tensors(const struct safetensors *file)
{
    size_t bytes = 0;
    const unsigned char *begin = file->map, *end = begin + file->map_bytes;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        REQUIRE(!i || strcmp(file->tensors[i - 1].name, tensor->name) < 0);
        REQUIRE(safetensors_find(file, tensor->name) == tensor);
        REQUIRE(tensor->rank >= 0 && tensor->data >= begin && tensor->bytes <= (size_t)(end - tensor->data));
        bytes += tensor->bytes;
    }
    uint64_t header;
    memcpy(&header, begin, sizeof header);
    REQUIRE(bytes + header + sizeof header == file->map_bytes);
}

static void read_file(const char *path)
{
    struct arena *arena = arena_new();
    struct safetensors file;
    const char *message = "";
    switch (safetensors_open(arena, path, &file, &message)) {
    case SAFETENSORS_OK:
        check_tensors(&file);
        safetensors_close(&file);
        break;
    case SAFETENSORS_BROKEN:
        REQUIRE(*message);          /* it is spelt out where it is shown, as below */
        break;
    case SAFETENSORS_UNREADABLE:
        REQUIRE(!"the file cannot be read");
    }
    arena_free(arena);
}

static void compile_with(const char *path, const char *target)
{
    char weights[128];
    snprintf(weights, sizeof weights, "--weights=%s", path);
    const char *argv[] = {"mlpc", target, "-Wall", weights, "spec.mlp", NULL};
    struct compiled first, second;
    fuzz_compile(&first, argv, spec, sizeof spec - 1);
    fuzz_compile(&second, argv, spec, sizeof spec - 1);
    REQUIRE(first.status == second.status && first.status <= EXIT_USER);
    REQUIRE(fuzz_text_same(&first.messages, &second.messages) && fuzz_text_same(&first.results, &second.results));
    fuzz_compiled_free(&first);
    fuzz_compiled_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    read_file(path);
    compile_with(path, "--target=cpu");
    compile_with(path, "--target=cuda");
    return 0;
}
