/*  test_suggest.c -- the distance of two words is the least number of edits, and the word that is suggested the nearest
 *  of those that are near. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/base/suggest.h"

enum { ROUNDS = 4000, WORD_MAX = 7 };

/*  Small alphabets make words that share letters; capitals count as their small letters. */
static helio_text_t random_word(helio_rng_t *rng, char bytes[WORD_MAX])
{
    uint32_t size = (uint32_t)helio_rng_below(rng, WORD_MAX);
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = "abcAB"[helio_rng_below(rng, 5)];
    return (helio_text_t){bytes, size};
}

static bool same(char a, char b)
{
    return (a | 0x20) == (b | 0x20);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/*  By the definition, without a table: the edits that make the first i bytes of a the first k of b. */
static uint32_t naive(helio_text_t a, uint32_t i, helio_text_t b, uint32_t k)
{
    if (!i || !k)
        return i + k;
    uint32_t edits = naive(a, i - 1, b, k - 1) + !same(a.data[i - 1], b.data[k - 1]);
    edits = least(edits, naive(a, i - 1, b, k) + 1);
    edits = least(edits, naive(a, i, b, k - 1) + 1);
    if (i > 1 && k > 1 && same(a.data[i - 1], b.data[k - 2]) && same(a.data[i - 2], b.data[k - 1]))
        edits = least(edits, naive(a, i - 2, b, k - 2) + 1);
    return edits;
}

static void a_distance__is_the_least_number_of_edits(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 5};
    for (int i = 0; i < ROUNDS / 8; i++) {
        char a_bytes[WORD_MAX], b_bytes[WORD_MAX];
        helio_text_t a = random_word(&rng, a_bytes), b = random_word(&rng, b_bytes);
        uint32_t expected = naive(a, a.size, b, b.size);
        if (helio_edit_distance(a, b) != expected || helio_edit_distance(b, a) != expected)
            fail_msg("'%.*s' and '%.*s': %u instead of %u", HELIO_TEXT_ARGS(a), HELIO_TEXT_ARGS(b),
                     helio_edit_distance(a, b), expected);
    }
}

static void a_distance__is_bounded_by_the_longer_word_and_the_difference_in_size(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 6};
    for (int i = 0; i < ROUNDS; i++) {
        char a_bytes[WORD_MAX], b_bytes[WORD_MAX];
        helio_text_t a = random_word(&rng, a_bytes), b = random_word(&rng, b_bytes);
        uint32_t longer = a.size > b.size ? a.size : b.size, shorter = a.size + b.size - longer;
        assert_in_range(helio_edit_distance(a, b), longer - shorter, longer);
        assert_int_equal(helio_edit_distance(a, a), 0);
    }
}

static void a_suggestion__is_the_first_of_the_nearest_words_within_a_third(void **state)
{
    (void)state;
    static const char *const words[] = {"abc", "acb", "abcabc", "bca", "cab", "abcab", "ab", "c", "aabbcc", "bbbbbb"};
    helio_rng_t rng = {.state = 7};
    uint32_t found = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char bytes[WORD_MAX];
        helio_suggestion_t suggestion = {.written = random_word(&rng, bytes)};
        const char *best = NULL;
        uint32_t least = UINT32_MAX;
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            helio_text_t word = helio_text_of(words[w]);
            uint32_t longer = word.size > suggestion.written.size ? word.size : suggestion.written.size;
            uint32_t edits = helio_edit_distance(word, suggestion.written);
            /* Of the equally near, one that begins alike. */
            uint32_t rank = 2 * edits + (suggestion.written.size && !same(word.data[0], suggestion.written.data[0]));
            if (edits <= (longer < 3 ? 0 : longer / 3) && rank < least) {
                best = words[w];
                least = rank;
            }
            helio_suggestion_offer(&suggestion, words[w]);
        }
        found += best != NULL;
        if (suggestion.best != best)
            fail_msg("'%.*s': %s instead of %s", HELIO_TEXT_ARGS(suggestion.written),
                     suggestion.best ? suggestion.best : "nothing", best ? best : "nothing");
    }
    assert_in_range(found, ROUNDS / 10, ROUNDS);
}

/*  The same word is found in a list that is one text, whatever separates its words. */
static void a_word_of_a_list__is_the_one_that_would_be_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *written, *words;
        char separator;
        const char *best;
    } cases[] = {
        {"jsn", "table wide json jsonl", ' ', "json"},
        {"qeued", "queued,held", ',', "queued"},
        {"held", "queued,held", ',', "held"},
        {"zebra", "queued,held", ',', ""},
        {"", "queued,held", ',', ""},
        {"", "", ',', ""},
        {"queued held", "queued held", ',', "queued held"},
        {"standard", "standard", ' ', "standard"},
        {"abx", "abc abd", ' ', "abc"},
        {"cpu", "gpu cpus", ' ', "cpus"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_text_t best =
            helio_suggestion_among(helio_text_of(cases[i].written), helio_text_of(cases[i].words), cases[i].separator);
        if (!helio_text_is(best, cases[i].best))
            fail_msg("'%s' of '%s': '%.*s'", cases[i].written, cases[i].words, HELIO_TEXT_ARGS(best));
    }
}

static void a_word_of_any_length__is_compared_within_bounds(void **state)
{
    (void)state;
    char longest[200];
    memset(longest, 'x', sizeof longest);
    for (uint32_t size = 0; size <= sizeof longest; size++) {
        helio_text_t word = {longest, size};
        assert_int_equal(helio_edit_distance(word, HELIO_TEXT("")), size <= 64 ? size : UINT32_MAX);
        helio_suggestion_t suggestion = {.written = word};
        helio_suggestion_offer(&suggestion, "queue");
        assert_null(suggestion.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_distance__is_the_least_number_of_edits),
        cmocka_unit_test(a_distance__is_bounded_by_the_longer_word_and_the_difference_in_size),
        cmocka_unit_test(a_suggestion__is_the_first_of_the_nearest_words_within_a_third),
        cmocka_unit_test(a_word_of_a_list__is_the_one_that_would_be_suggested),
        cmocka_unit_test(a_word_of_any_length__is_compared_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
