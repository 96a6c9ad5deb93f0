#include "quantity.h"

#include <inttypes.h>

/* Below the next unit, also once rounded to three digits. */
static const char *scaled(struct arena *arena, double number, double step, const char *const *units, int count)
{
    int unit = 0;
    while (unit + 1 < count && number >= step - 0.5) {
        number /= step;
        unit++;
    }
    int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    if ((double)(int64_t)number == number)
        decimals = 0;
    return arena_format(arena, "%.*f%s%s", decimals, number, *units[unit] ? " " : "", units[unit]);
}

const char *quantity_bytes(struct arena *arena, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return scaled(arena, bytes, 1024, units, 5);
}

const char *quantity_count(struct arena *arena, double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    return scaled(arena, count, 1000, units, 6);
}

const char *quantity_time(struct arena *arena, double seconds)
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    return scaled(arena, 1e12 * seconds, 1000, units, 5);
}

const char *quantity_rows(struct arena *arena, int64_t rows)
{
    return arena_format(arena, "%" PRId64 " row%s", rows, rows == 1 ? "" : "s");
}
