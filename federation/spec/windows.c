/*  windows.c -- the fields of a reservation window. */
#include "federation/spec/windows.h"

#include <stddef.h>

#include "federation/spec/rules.h"

#define AT(member) .offset = offsetof(helio_window_t, member)

static const helio_spec_field_t window_fields[] = {
    {.key = "pool",
     .kind = HELIO_SPEC_TEXT,
     AT(pool),
     .required = true,
     .rule = &helio_spec_rule_name,
     .example = "h100",
     .doc = "Pool whose GPUs are reserved."},
    {.key = "reserve_gpus",
     .kind = HELIO_SPEC_U32,
     AT(reserve_gpus),
     .most = 10000000,
     .fallback = "0",
     .example = "64",
     .doc = "Number of GPUs reserved during `when`."},
    {.key = "when",
     .kind = HELIO_SPEC_TEXT,
     AT(when),
     .most = 256,
     .example = "Mon..Fri 08:00-20:00",
     .doc = "Hours of the week in the site's `timezone`. Default: always."},
    {.key = "series",
     .kind = HELIO_SPEC_TEXT,
     AT(series),
     .rule = &helio_spec_rule_name,
     .example = "azure-conv",
     .doc = "Alternative to `reserve_gpus`: reserve GPUs in proportion to this demand series, `peak_gpus` at its "
            "maximum. A `reserve_gpus` beside it must be the same number."},
    {.key = "peak_gpus",
     .kind = HELIO_SPEC_U32,
     AT(peak_gpus),
     .most = 10000000,
     .fallback = "0",
     .example = "96",
     .doc = "Number of GPUs reserved at the maximum of the series."},
};

static helio_rc check(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_struct)
{
    const helio_window_t *window = ret_struct;
    if (window->series.size ? window->peak_gpus == 0 : window->reserve_gpus == 0)
        return helio_spec_diagnose(reader, node, HELIO_SPEC_MISSING_PROBLEM,
                                   window->series.size ? "add 'peak_gpus: 96'" : "add 'reserve_gpus: 64'",
                                   "%s: a window needs 'reserve_gpus', or 'series' with 'peak_gpus'", reader->path);
    const char *other = window->series.size
                            ? (window->when.size                                                   ? "when"
                               : window->reserve_gpus && window->reserve_gpus != window->peak_gpus ? "reserve_gpus"
                                                                                                   : NULL)
                            : (window->peak_gpus ? "peak_gpus" : NULL);
    if (other)
        return helio_spec_diagnose(reader, helio_spec_find(node, other), HELIO_SPEC_CONTRADICTION_PROBLEM, NULL,
                                   "%s: '%s' has no effect %s", reader->path, other,
                                   window->series.size ? "with a series" : "without a series");
    return HELIO_OK;
}

const helio_spec_table_t helio_spec_window_table = HELIO_SPEC_TABLE("window", helio_window_t, window_fields, check);
