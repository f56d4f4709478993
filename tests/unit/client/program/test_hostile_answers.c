/*  test_hostile_answers.c -- answers whose texts drive a terminal, whose names break off within a character, or whose
 *  values have another type than the API says. */
#include "federation/base/utf8.h"
#include "tests/unit/client/program/answers.h"

static const char *const screens[] = {"table", "wide"};

/*  Whether a text has a control character other than the end of a line, or half a character. */
static bool drives_a_terminal(const char *text)
{
    if (!helio_utf8_is_text(helio_text_of(text)))
        return true;
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || (c == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80))
            return true;
    }
    return false;
}

static void answers__are_there_for_every_command_that_reads(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        bool found = command_cases[c].manner != READS ||
                     strcmp(command_cases[c].name, "rehearse") == 0; /* helio-simulate reads its answer */
        for (size_t i = 0; i < ANSWERS; i++)
            found = found || strcmp(answers[i].name, command_cases[c].name) == 0;
        if (!found)
            fail_msg("no answer for `helio %s`", command_cases[c].name);
    }
}

static void answers__as_the_api_has_them_are_shown_by_every_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < ANSWERS; i++) {
        json_t *answer = answer_of(&answers[i]);
        assert_non_null(answer);
        outcome_t outcome = play_answer(&answers[i], answer, "wide");
        if (outcome.code != 0 || !outcome.out[0])
            fail_case(command_case_of(answers[i].name), &outcome, "a good answer");
        end(&outcome);
        json_decref(answer);
    }
}

static void texts__of_an_answer_reach_no_terminal_with_control_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ANSWERS; i++) {
        json_t *good = answer_of(&answers[i]), *answer = with_bytes(good, "\033[2J\a\xc2\x9b\x7f\r");
        for (size_t s = 0; s < 2; s++) {
            outcome_t outcome = play_answer(&answers[i], answer, screens[s]);
            if (drives_a_terminal(outcome.out) || drives_a_terminal(outcome.err))
                fail_case(command_case_of(answers[i].name), &outcome, "control characters, -o %s", screens[s]);
            end(&outcome);
        }
        json_decref(good);
        json_decref(answer);
    }
}

static void texts__of_an_answer_cannot_forge_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ANSWERS; i++) {
        json_t *good = answer_of(&answers[i]), *answer = with_bytes(good, "\nforged");
        for (size_t s = 0; s < 2; s++) {
            outcome_t outcome = play_answer(&answers[i], answer, screens[s]);
            if (strstr(outcome.out, "\nforged"))
                fail_case(command_case_of(answers[i].name), &outcome, "a forged line, -o %s", screens[s]);
            end(&outcome);
        }
        json_decref(good);
        json_decref(answer);
    }
}

/*  Cells have bounds in bytes. Names of two-byte characters, of each length around those bounds, meet a bound within a
 *  character. */
static void names__of_any_length_and_script_are_shown(void **state)
{
    (void)state;
    char name[160];
    for (size_t i = 0; i < ANSWERS; i++) {
        json_t *good = answer_of(&answers[i]);
        for (size_t shift = 0; shift < 2; shift++) {
            memset(name, 'x', shift);
            for (size_t k = 0; k < 70; k++)
                memcpy(name + shift + 2 * k, "é", 3);
            json_t *answer = with_bytes(good, name);
            outcome_t outcome = play_answer(&answers[i], answer, "table");
            bool anchor = strcmp(answers[i].name, "audit anchor") == 0; /* such a hash is none */
            bool known = anchor ? outcome.code == 125 : outcome.code == 0 || outcome.code == 3; /* 3: another queue's */
            if (!known || drives_a_terminal(outcome.out) || drives_a_terminal(outcome.err))
                fail_case(command_case_of(answers[i].name), &outcome, "long names, from %zu", shift);
            end(&outcome);
            json_decref(answer);
        }
        json_decref(good);
    }
}

static json_t *junk(helio_rng_t *rng)
{
    switch (helio_rng_below(rng, 10)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(0);
    case 3:
        return json_integer(INT64_MAX);
    case 4:
        return json_integer(INT64_MIN);
    case 5:
        return json_real(helio_rng_below(rng, 2) ? 1e300 : -1e300);
    case 6:
        return json_string("");
    case 7:
        return json_string("9999-99-99T99:99:99Z\033[1m");
    case 8:
        return json_pack("[n, {s:[]}, i]", "points", 7);
    default:
        return json_pack("{s:{s:n}, s:s}", "a", "b", "id", "x");
    }
}

/*  Members of another type are left out or shown as they are: the rest of the answer is still of use. */
static void values__of_another_type_never_crash_a_command(void **state)
{
    (void)state;
    enum { ROUNDS = 14 };
    for (size_t i = 0; i < ANSWERS; i++) {
        json_t *good = answer_of(&answers[i]);
        int values = count_values(good);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            helio_rng_t rng = {.state = (uint64_t)i * 1000003 + round};
            json_t *other = junk(&rng);
            int at = (int)helio_rng_below(&rng, (uint64_t)values);
            json_t *answer = with_another(good, &at, other);
            outcome_t outcome = play_answer(&answers[i], answer, screens[round % 2]);
            bool known =
                outcome.code == 0 || outcome.code == 1 || outcome.code == 3 || outcome.code == 5 || outcome.code == 125;
            if (!known || (outcome.code && !outcome.err[0] && outcome.code != 5) || drives_a_terminal(outcome.out) ||
                drives_a_terminal(outcome.err))
                fail_case(command_case_of(answers[i].name), &outcome, "round %llu", (unsigned long long)round);
            end(&outcome);
            json_decref(answer);
            json_decref(other);
        }
        json_decref(good);
    }
}

static void candidates__that_are_no_objects_are_left_out_of_the_table(void **state)
{
    (void)state;
    static const char *const commands[] = {"explain", "plan"};
    for (size_t i = 0; i < ANSWERS; i++) {
        if (strcmp(answers[i].name, commands[0]) != 0 && strcmp(answers[i].name, commands[1]) != 0)
            continue;
        json_t *answer = answer_of(&answers[i]), *candidates = json_object_get(answer, "candidates");
        json_array_insert_new(candidates, 0, json_pack("[i]", 7));
        json_array_append_new(candidates, json_null());
        outcome_t outcome = play_answer(&answers[i], answer, "table");
        if (outcome.code != 0 || !strstr(outcome.out, "oregon"))
            fail_case(command_case_of(answers[i].name), &outcome, "candidates");
        end(&outcome);
        json_decref(answer);
    }
}

/*  The first lines of the jobs ahead, and how many more there are. */
static void jobs_ahead__are_counted_whatever_the_counts(void **state)
{
    (void)state;
    static const struct {
        json_int_t all, first;
        const char *more;
    } cases[] = {{3, 1, ", and 2 more"}, {3, 3, NULL},         {3, 5, NULL},
                 {3, 0, NULL},           {3, INT64_MIN, NULL}, {INT64_MAX, INT64_MIN, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t at = 0;
        while (strcmp(answers[at].name, "explain") != 0)
            at++;
        json_t *answer = answer_of(&answers[at]), *ahead = json_object_get(answer, "ahead");
        json_object_set_new(ahead, "jobs", json_integer(cases[i].all));
        json_object_set_new(json_array_get(json_object_get(ahead, "first"), 0), "jobs", json_integer(cases[i].first));
        outcome_t outcome = play_answer(&answers[at], answer, "table");
        const char *more = strstr(outcome.out, " more\n");
        if (outcome.code != 0 || (more != NULL) != (cases[i].more != NULL) ||
            (more && !strstr(outcome.out, cases[i].more)))
            fail_case(command_case_of("explain"), &outcome, "case %zu", i);
        end(&outcome);
        json_decref(answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers__are_there_for_every_command_that_reads),
        cmocka_unit_test(answers__as_the_api_has_them_are_shown_by_every_command),
        cmocka_unit_test(texts__of_an_answer_reach_no_terminal_with_control_characters),
        cmocka_unit_test(texts__of_an_answer_cannot_forge_a_line),
        cmocka_unit_test(names__of_any_length_and_script_are_shown),
        cmocka_unit_test(values__of_another_type_never_crash_a_command),
        cmocka_unit_test(jobs_ahead__are_counted_whatever_the_counts),
        cmocka_unit_test(candidates__that_are_no_objects_are_left_out_of_the_table),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
