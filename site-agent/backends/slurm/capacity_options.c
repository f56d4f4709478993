/*  capacity_options.c -- which partitions and features a pool's nodes have, so that jobs that name others are not sent
 *  there. */
#include "site-agent/backends/slurm/capacity_internal.h"

enum { VALUES_MOST = 2000 }; /* of one option; more are not reported, and then not checked */

static void add_word(helio_buffer_t *values, helio_text_t word)
{
    if (!word.size || helio_slurm_in_list(helio_buffer_view(values), word))
        return;
    if (values->size)
        helio_buffer_append(values, ",", 1);
    helio_buffer_append(values, word.data, word.size);
}

static void add_words(helio_buffer_t *values, helio_text_t words)
{
    for (uint32_t at = 0, end; at < words.size; at = end + 1) {
        for (end = at; end < words.size && words.data[end] != ',';)
            end++;
        add_word(values, (helio_text_t){words.data + at, end - at});
    }
}

/*  Neighbours mostly have the same words, which are read once. */
static void collect(const helio_slurm_picture_t *picture, const helio_slurm_members_t *members, bool features,
                    helio_buffer_t *values)
{
    helio_text_t before = {0};
    for (uint32_t i = 0; i < members->count && values->size <= VALUES_MOST; i++) {
        const helio_slurm_node_t *node = picture->places[members->places[i]].node;
        helio_text_t words = features ? node->features : node->partitions;
        if (i && helio_text_equal(words, before))
            continue;
        add_words(values, words);
        before = words;
    }
}

void helio_slurm_pool_options(const helio_slurm_picture_t *picture, const helio_slurm_members_t *members,
                              helio_arena_t *arena, helio_slurm_pool_options_t *ret_options)
{
    static const char *const names[] = {"partition", "constraint"};
    ret_options->items = helio_arena_alloc(arena, 2, sizeof *ret_options->items);
    ret_options->count = 0;
    for (uint32_t i = 0; members->count && i < 2; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t values = {0};
        collect(picture, members, i == 1, &values);
        if (values.size > VALUES_MOST)
            continue;
        ret_options->items[ret_options->count++] =
            (helio_pool_option_t){helio_text_of(names[i]), helio_arena_text(arena, helio_buffer_view(&values))};
    }
}
