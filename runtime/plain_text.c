#include "plain_text.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `at`, which a NUL follows at some point; 0: it is none. The least value of each length is
 * what its shorter forms cannot say. */
static size_t decode(const unsigned char *at, uint32_t *value)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const size_t tail = *at < 0x80 ? 0 : (*at & 0xe0) == 0xc0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : 3;
    if (*at >= 0xf8 || (*at & 0xc0) == 0x80)
        return 0;
    *value = tail ? *at & (0x3fu >> tail) : *at;
    for (size_t i = 1; i <= tail; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *value = *value << 6 | (at[i] & 0x3f);
    }
    const int surrogate = *value >= 0xd800 && *value <= 0xdfff;
    return *value < least[tail] || surrogate || *value > 0x10ffff ? 0 : tail + 1;
}

static int is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

void mlp_print_plain(FILE *to, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    uint32_t character = 0;
    for (size_t size; *at; at += size) {
        size = decode(at, &character);
        if (size && !is_control(character)) {
            fwrite(at, 1, size, to);
            continue;
        }
        size = size ? size : 1;
        for (size_t i = 0; i < size; i++)
            fprintf(to, "\\x%02x", at[i]);
    }
}
