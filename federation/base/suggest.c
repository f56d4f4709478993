/*  suggest.c -- edit distance, and the nearest of the offered words. */
#include <string.h>

#include "federation/base/suggest.h"

enum { WORD_MAX = 64 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t helio_edit_distance(helio_text_t a, helio_text_t b)
{
    /* Three rows suffice: a swap of neighbours looks back two. */
    uint32_t rows[3][WORD_MAX + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    if (a.size > WORD_MAX || b.size > WORD_MAX)
        return UINT32_MAX;
    memset(rows, 0, sizeof rows);
    for (uint32_t j = 0; j <= b.size; j++)
        above[j] = j;
    for (uint32_t i = 1; i <= a.size; i++) {
        row[0] = i;
        for (uint32_t j = 1; j <= b.size; j++) {
            char x = lower(a.data[i - 1]), y = lower(b.data[j - 1]);
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b.data[j - 2]) && y == lower(a.data[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        uint32_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b.size];
}

/*  A third of the longer word may differ: enough for typing errors, too little to turn one word into another. Of two
 *  words at the same distance, the one that begins as the written one does is nearer: few slip at the first letter. */
static bool is_similar(helio_text_t written, helio_text_t known, uint32_t *ret_rank)
{
    uint32_t longer = known.size > written.size ? known.size : written.size;
    uint32_t distance = helio_edit_distance(written, known);
    if (distance > (longer < 3 ? 0 : longer / 3))
        return false;
    *ret_rank = 2 * distance + (longer && lower(written.data[0]) != lower(known.data[0]));
    return true;
}

void helio_suggestion_offer(helio_suggestion_t *self, const char *word)
{
    uint32_t rank;
    if (!is_similar(self->written, helio_text_of(word), &rank) || (self->best && rank >= self->rank))
        return;
    self->best = word;
    self->rank = rank;
}

helio_text_t helio_suggestion_among(helio_text_t written, helio_text_t words, char separator)
{
    helio_text_t best = {0};
    uint32_t rank, least = UINT32_MAX;
    for (uint32_t begin = 0, end = 0; end <= words.size; end++) {
        if (end < words.size && words.data[end] != separator)
            continue;
        helio_text_t word = {words.data + begin, end - begin};
        if (is_similar(written, word, &rank) && rank < least) {
            best = word;
            least = rank;
        }
        begin = end + 1;
    }
    return best;
}
