/*  array.c -- the indexes of an array. */
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/spec/value.h"

enum { INDEX_MAX = 9999999 };

typedef struct range {
    uint64_t first, last, step;
} range_t;

static bool number(const char **at, uint64_t *ret_number)
{
    size_t size = strspn(*at, "0123456789");
    if (size > 8 || helio_u64_parse((helio_text_t){*at, (uint32_t)size}, ret_number) != HELIO_OK)
        return false;
    *at += size;
    return *ret_number <= INDEX_MAX;
}

/*  5, 0-9, 0-15:4 */
static bool read_range(const char **at, range_t *ret_range)
{
    range_t range = {.step = 1};
    if (!number(at, &range.first))
        return false;
    range.last = range.first;
    if (**at == '-') {
        ++*at;
        if (!number(at, &range.last))
            return false;
        if (**at == ':') {
            ++*at;
            if (!number(at, &range.step))
                return false;
        }
    }
    *ret_range = range;
    return range.step > 0 && range.first <= range.last;
}

static void write_part(helio_buffer_t *out, const range_t *range)
{
    helio_buffer_printf(out, "%s%llu", out->size ? "," : "", (unsigned long long)range->first);
    if (range->last > range->first)
        helio_buffer_printf(out, "-%llu", (unsigned long long)range->last);
    if (range->last > range->first && range->step > 1)
        helio_buffer_printf(out, ":%llu", (unsigned long long)range->step);
}

/*  Writes the range unchanged if none of its indexes occurred before, otherwise only the new ones. */
static void take_range(helio_buffer_t *out, const range_t *range, uint8_t *seen)
{
    bool fresh = true;
    for (uint64_t i = range->first; i <= range->last; i += range->step)
        fresh = fresh && !(seen[i / 8] & 1u << i % 8);
    if (fresh)
        write_part(out, range);
    for (uint64_t i = range->first; i <= range->last; i += range->step) {
        if (!fresh && !(seen[i / 8] & 1u << i % 8))
            write_part(out, &(range_t){i, i, 1});
        seen[i / 8] |= (uint8_t)(1u << i % 8);
    }
}

/*  Slurm accepts lists in brackets, repeated indexes and %0; a job file has every index once. */
static bool normal_array(const char *text, helio_arena_t *arena, helio_buffer_t *out)
{
    uint8_t *seen = helio_arena_alloc(arena, INDEX_MAX / 8 + 1, 1);
    uint64_t total = 0;
    for (const char *at = text; *at && *at != '%'; at += *at == ',') {
        range_t range;
        if (!read_range(&at, &range) || (*at && *at != ',' && *at != '%'))
            return false;
        total += (range.last - range.first) / range.step + 1;
        if (total > 4 * HELIO_JOB_ARRAY_MAX) { /* too many, even without repeats: the job file's reader reports it */
            helio_buffer_text(out, text);
            return true;
        }
        take_range(out, &range, seen);
    }
    const char *percent = strchr(text, '%');
    if (percent && strspn(percent + 1, "0") != strlen(percent + 1))
        helio_buffer_text(out, percent);
    return out->size > 0;
}

helio_rc sbatch_array(sbatch_t *self, const char **ret_array)
{
    const sbatch_value_t *value = sbatch_given(self, HELIO_SBATCH_ARRAY);
    if (!value)
        return HELIO_OK;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bare = {0}, normal = {0};
    for (const char *at = value->text; *at; at++)
        if (*at != '[' && *at != ']')
            helio_buffer_append(&bare, at, 1);
    if (!bare.size || strspn(bare.data, "0123456789-,:%") != bare.size ||
        !normal_array(bare.data, self->arena, &normal))
        return sbatch_refuse(self, value, "such as 0-99%10, 1,3,7 or 0-15:4",
                             "--array: '%.64s' is not a list of "
                             "tasks",
                             value->text);
    helio_text_t job = helio_arena_printf(self->arena, "run: x\narray: \"%s\"\n", normal.data);
    helio_job_spec_t spec;
    helio_diagnostic_t why;
    if (helio_spec_parse_job((helio_spec_source_t){.text = job}, self->arena, &spec, &why) != HELIO_OK)
        return sbatch_refuse(self, value, why.hint, "--%s", why.message);
    *ret_array = helio_arena_string(self->arena, helio_buffer_view(&normal));
    return HELIO_OK;
}
