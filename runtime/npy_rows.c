/* .npy files whose arrays are rows of floats: of the types and shapes that a header may name, those. */
#include "npy.h"

#include <stdarg.h>
#include <string.h>

#include "npy_header.h"

size_t mlp_npy_type_size(mlp_npy_type type)
{
    static const size_t sizes[] = {[MLP_NPY_F2] = 2, [MLP_NPY_F4] = 4, [MLP_NPY_F8] = 8, [MLP_NPY_BF16] = 2};
    return sizes[type];
}

static mlp_npy_result wrong(mlp_npy *npy, const char *format, ...) __attribute__((format(printf, 2, 3)));

static mlp_npy_result wrong(mlp_npy *npy, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(npy->error, sizeof npy->error, format, arguments);
    va_end(arguments);
    return MLP_NPY_WRONG;
}

static mlp_npy_result find_type(mlp_npy *npy, const char *word)
{
    static const struct {
        const char *text;
        mlp_npy_type type;
    } known[] = {{"f2", MLP_NPY_F2}, {"f4", MLP_NPY_F4}, {"f8", MLP_NPY_F8}, {"V2", MLP_NPY_BF16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int ordered = word[0] && strchr("<>=", word[0]), bits = word[0] == '|' && known[i].type == MLP_NPY_BF16;
        if ((ordered || bits) && !strcmp(word + 1, known[i].text)) {
            npy->type = known[i].type;
            npy->big_endian = word[0] == '>';
            return MLP_NPY_OK;
        }
    }
    return wrong(npy, "it holds elements of type '%s', not f2, f4, f8 or V2 (bfloat16)", word);
}

static mlp_npy_result check_size(mlp_npy *npy, const mlp_npy_header *header, uint64_t file_size)
{
    if (header->rank != 1 && header->rank != 2)
        return wrong(npy, "its shape has %zu dimensions; [rows, width] or [width] is needed", header->rank);
    npy->rows = header->rank == 2 ? header->dims[0] : 1;
    npy->width = header->dims[header->rank - 1];
    size_t bytes;
    if (__builtin_mul_overflow(npy->rows, npy->width, &bytes) ||
        __builtin_mul_overflow(bytes, mlp_npy_type_size(npy->type), &bytes))
        return wrong(npy, "its shape does not fit into memory");
    if (file_size - npy->offset != bytes)
        return wrong(npy, "shape [%zu, %zu] needs %zu bytes of data, it has %ju", npy->rows, npy->width, bytes,
                     (uintmax_t)(file_size - npy->offset));
    return MLP_NPY_OK;
}

mlp_npy_result mlp_npy_parse(mlp_npy *npy, const unsigned char *bytes, size_t size, uint64_t file_size)
{
    mlp_npy_header header;
    *npy = (mlp_npy){.file = NULL};
    if (!mlp_npy_read_header(&header, bytes, size))
        return wrong(npy, "%s", header.error);
    npy->fortran = header.fortran;
    npy->offset = header.offset;
    if (find_type(npy, header.type) != MLP_NPY_OK)
        return MLP_NPY_WRONG;
    return check_size(npy, &header, file_size);
}
