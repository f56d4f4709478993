/*  rank.c -- the order of a decision's candidates in a table. */
#include "client/reasons/rank.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/output/output.h"
#include "federation/base/memory.h"

enum { CHOSEN, COULD_RUN, REJECTED, WITHOUT_SCORE };

typedef struct ranked {
    json_t *candidate;
    size_t place; /* in the decision */
    uint32_t group;
    double score;
} ranked_t;

/*  A rejected one can have a score of 0, which only says that none was computed. */
static ranked_t ranked_of(json_t *candidate, const json_t *chosen, size_t place)
{
    double score = helio_output_number(candidate, "score_usd", NAN);
    bool rejected = helio_output_string(candidate, "reason")[0] != '\0';
    bool known = !isnan(score) && (!rejected || score > 0);
    uint32_t group = candidate == chosen ? CHOSEN : !rejected ? COULD_RUN : known ? REJECTED : WITHOUT_SCORE;
    return (ranked_t){candidate, place, group, known ? score : INFINITY};
}

static int by_rank(const void *a_, const void *b_)
{
    const ranked_t *a = a_, *b = b_;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->score < b->score || a->score > b->score)
        return a->score < b->score ? -1 : 1;
    int sites = a->group == WITHOUT_SCORE
                    ? strcmp(helio_output_string(a->candidate, "site"), helio_output_string(b->candidate, "site"))
                    : 0;
    return sites ? sites : a->place < b->place ? -1 : 1;
}

json_t **helio_rank(const json_t *candidates, const json_t *chosen, size_t *ret_count)
{
    size_t most = json_array_size(candidates) + 1, i, count = 0;
    ranked_t *ranked = helio_new(most, sizeof *ranked);
    json_t **list = helio_new(most, sizeof *list);
    json_t *candidate;
    json_array_foreach(candidates, i, candidate)
    {
        if (json_is_object(candidate))
            ranked[count++] = ranked_of(candidate, chosen, i);
    }
    qsort(ranked, count, sizeof *ranked, by_rank);
    for (i = 0; i < count; i++)
        list[i] = ranked[i].candidate;
    free(ranked);
    *ret_count = count;
    return list;
}
