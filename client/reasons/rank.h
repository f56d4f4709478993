/*  rank.h -- the order of a decision's candidates in a table. */
#ifndef HELIO_CLIENT_RANK_H
#define HELIO_CLIENT_RANK_H

#include <jansson.h>

/*  The chosen one first (NULL = none), then those that could run the job and those that could not, each by score; last
 *  those without a score, by site. Equal ones stay in the order of the decision. Borrowed members; free () the list. */
json_t **helio_rank(const json_t *candidates, const json_t *chosen, size_t *ret_count);

#endif
