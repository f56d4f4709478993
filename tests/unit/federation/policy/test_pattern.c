/*  test_pattern.c -- patterns of names, and regions within regions. */
#include "tests/unit/federation/policy/choice_testing.h"

/* ---- patterns ------------------------------------------------------------------------------------------ */

static void pattern__stars_match_any_run_and_everything_else_itself(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool match;
    } rows[] = {{"", "", true},
                {"", "a", false},
                {"*", "", true},
                {"*", "abc", true},
                {"a", "a", true},
                {"a", "A", false},
                {"a", "ab", false},
                {"ab", "a", false},
                {"eu-*", "eu-", true},
                {"eu-*", "eu-x-y", true},
                {"eu-*", "eu", false},
                {"*-test", "eu-test", true},
                {"*-test", "test", false},
                {"a*b*c", "abc", true},
                {"a*b*c", "aXbYbZc", true},
                {"a*b*c", "acb", false},
                {"**", "x", true},
                {"*a*", "bab", true},
                {"*a*", "bbb", false},
                {"a*a", "a", false},
                {"a*a", "aa", true},
                {"?", "a", false},
                {"[a]", "a", false},
                {"*ab", "aab", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (helio_pattern_match(helio_text_of(rows[i].pattern), helio_text_of(rows[i].text)) != rows[i].match)
            fail_msg("'%s' against '%s'", rows[i].pattern, rows[i].text);
}

/*  The plain recursive definition, on short random texts over two letters and the star. */
static bool slow_match(const char *p, uint32_t pn, const char *t, uint32_t tn)
{
    if (!pn)
        return !tn;
    if (*p == '*')
        return slow_match(p + 1, pn - 1, t, tn) || (tn && slow_match(p, pn, t + 1, tn - 1));
    return tn && *p == *t && slow_match(p + 1, pn - 1, t + 1, tn - 1);
}

static void pattern__agrees_with_its_definition_on_random_texts(void **state)
{
    (void)state;
    helio_rng_t rng = {5};
    for (int round = 0; round < 50000; round++) {
        char p[8], t[10];
        helio_text_t pattern = {p, (uint32_t)helio_rng_below(&rng, 8)}, text = {t, (uint32_t)helio_rng_below(&rng, 10)};
        for (uint32_t i = 0; i < pattern.size; i++)
            p[i] = "ab*"[helio_rng_below(&rng, 3)];
        for (uint32_t i = 0; i < text.size; i++)
            t[i] = "ab"[helio_rng_below(&rng, 2)];
        assert_true(helio_pattern_match(pattern, text) == slow_match(p, pattern.size, t, text.size));
    }
}

static void patterns__allow_when_none_excludes_and_any_plain_one_matches(void **state)
{
    (void)state;
    static const struct {
        const char *patterns, *text;
        bool allow;
    } rows[] = {{"", "a", true},
                {"a", "a", true},
                {"a", "b", false},
                {"a,b", "b", true},
                {"!a", "a", false},
                {"!a", "b", true},
                {"*,!a", "a", false},
                {"!a,*", "a", false},
                {"!a,b", "c", false},
                {"eu-*,!eu-test", "eu-1", true},
                {"eu-*,!eu-test", "eu-test", false},
                {"!!a", "a", true},
                {"!", "a", true},
                {"!*", "a", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_list_t list;
        set_words(&list, rows[i].patterns);
        if (helio_patterns_allow(list.items, list.count, helio_text_of(rows[i].text)) != rows[i].allow)
            fail_msg("'%s' of '%s'", rows[i].text, rows[i].patterns);
    }
}

static void residency__a_region_is_itself_and_what_is_below_it_and_exclusion_is_final(void **state)
{
    (void)state;
    static const struct {
        const char *regions, *region;
        bool allow;
    } rows[] = {{"", "EU-SE", true},
                {"EU", "EU", true},
                {"EU", "EU-SE", true},
                {"EU", "EU-SE-1", true},
                {"EU", "EUX", false},
                {"EU", "US-CA", false},
                {"EU", "", false},
                {"EU-SE", "EU", false},
                {"EU-*", "EU-SE", true},
                {"EU,US", "US-CA", true},
                {"!EU", "EU", false},
                {"!EU", "EU-SE", false},
                {"!EU", "US-CA", true},
                {"EU,!EU-PL", "EU-PL", false},
                {"EU,!EU-PL", "EU-PL-2", false},
                {"EU,!EU-PL", "EU-SE", true},
                {"!EU-PL,EU", "EU-PL", false},
                {"*,!US", "US-CA", false},
                {"!*", "EU-SE", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(NULL);
        set_words(&want.regions, rows[i].regions);
        site.region = helio_text_of(rows[i].region);
        if ((judge().rejection == HELIO_REJECTION_NONE) != rows[i].allow)
            fail_msg("region '%s' of '%s'", rows[i].region, rows[i].regions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pattern__stars_match_any_run_and_everything_else_itself),
        CASE(pattern__agrees_with_its_definition_on_random_texts),
        CASE(patterns__allow_when_none_excludes_and_any_plain_one_matches),
        CASE(residency__a_region_is_itself_and_what_is_below_it_and_exclusion_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
