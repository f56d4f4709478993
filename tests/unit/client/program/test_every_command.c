/*  test_every_command.c -- what holds for every command that asks the broker: which request it sends, and that no
 *  failed or malformed answer looks like success. */
#include "tests/unit/client/program/command_cases.h"

static void cases__cover_every_command_that_needs_a_broker(void **state)
{
    (void)state;
    size_t needing = 0;
    for (size_t i = 0; i < helio_commands.count; i++) {
        if (helio_commands.items[i].needs != HELIO_NEEDS_BROKER)
            continue;
        needing++;
        if (!command_case_of(helio_commands.items[i].name))
            fail_msg("no case for `helio %s`", helio_commands.items[i].name);
    }
    assert_int_equal(needing, COMMAND_CASES);
}

/*  Statuses that say that the broker understood and refused: the command ends at once, with the code of the help. */
static const struct {
    int status;
    int code;
    const char *body, *err;
} refusals[] = {
    {400, 2, "{\"detail\":\"field x is wrong\"}", "field x is wrong"},
    {403, 4, "{\"detail\":\"needs admin\"}", "`helio doctor` shows the role"},
    {409, 6, "{\"detail\":\"taken\",\"reason\":\"Conflict\"}", "taken (Conflict)"},
    {422, 5, "{\"title\":\"cannot be\"}", "cannot be"},
    {500, 1, "", "500"},
};

static void refusals__have_the_exit_code_of_the_manual_and_print_nothing_on_standard_output(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        const command_case_t *self = &command_cases[c];
        for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
            /* A server error may pass by the next attempt: `wait` goes on. */
            if (refusals[i].status == 500 && self->manner == FOLLOWS)
                continue;
            outcome_t outcome = play_case(self, (rule_t){"", 0, refusals[i].status, NULL, refusals[i].body, WHOLE, 0});
            if (outcome.code != refusals[i].code || outcome.out[0] || !strstr(outcome.err, refusals[i].err) ||
                !strstr(outcome.err, "helio: "))
                fail_case(self, &outcome, "status %d", refusals[i].status);
            if (!strstr(outcome.broker->requests.data, self->request))
                fail_case(self, &outcome, "no request %s", self->request);
            if (self->manner != FOLLOWS)
                assert_int_equal(broker_double_count(outcome.broker, "\n====\n"), 1); /* no retry after a refusal */
            end(&outcome);
        }
    }
}

static void unknown_names__exit_with_3_and_name_the_command_that_lists_them(void **state)
{
    (void)state;
    static const char *const lists[][2] = {
        {"show", "`helio ls`"},           {"cancel", "`helio ls`"},
        {"drain", "`helio sites`"},       {"forecast", "`helio sites`"},
        {"queues rm", "`helio queues`"},  {"overflow rm", "`helio overflow list`"},
        {"data rm", "`helio data list`"}, {"links rm", "`helio links list`"},
        {"quota set", "`helio quota`"},   {"tenants set", "`helio tenants`"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const command_case_t *self = command_case_of(lists[i][0]);
        outcome_t outcome = play_case(self, (rule_t){"", 0, 404, NULL, "{\"detail\":\"unknown\"}", WHOLE, 0});
        if (outcome.code != 3 || !strstr(outcome.err, lists[i][1]))
            fail_case(self, &outcome, "expected %s", lists[i][1]);
        end(&outcome);
        /* A sentence that comes with details says itself where to look. */
        outcome = play_case(
            self, (rule_t){"", 0, 404, NULL, "{\"detail\":\"unknown\",\"details\":[{\"code\":\"x\"}]}", WHOLE, 0});
        if (outcome.code != 3 || strstr(outcome.err, lists[i][1]))
            fail_case(self, &outcome, "expected no %s", lists[i][1]);
        end(&outcome);
    }
}

/*  Answers of a proxy, of another program on that port, or of a broker that was cut off. */
static const struct {
    const char *what, *body;
    ending_t ending;
} malformed[] = {
    {"no JSON", "<html>welcome</html>", WHOLE},
    {"a number", "42", WHOLE},
    {"a text", "\"ok\"", WHOLE},
    {"a list of texts", "[\"a\",\"b\"]", WHOLE},
    {"an object of nothing", "{}", WHOLE},
    {"JSON that breaks off", "{\"jobs\":[{\"id\":", WHOLE},
    {"bytes that are no UTF-8", "{\"status\":\"\xff\xfe\"}", WHOLE},
    {"an empty body", "", WHOLE},
    {"less than announced", "{}", CUT},
};

static bool is_no_json(size_t i)
{
    return i == 0 || i == 5 || i == 6 || malformed[i].ending == CUT;
}

static void readers__never_take_a_malformed_answer_for_an_empty_one(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        const command_case_t *self = &command_cases[c];
        for (size_t i = 0; self->manner == READS && i < sizeof malformed / sizeof malformed[0]; i++) {
            outcome_t outcome = play_case(self, (rule_t){"", 0, 200, NULL, malformed[i].body, malformed[i].ending, 0});
            bool optional = strcmp(malformed[i].what, "an object of nothing") == 0; /* every member may be absent */
            bool cut = malformed[i].ending == CUT;
            bool good = outcome.code == 0 ? optional : outcome.code == 125 || (cut && outcome.code == 7);
            if (!good || (outcome.code && (outcome.out[0] || !outcome.err[0])))
                fail_case(self, &outcome, "answer: %s", malformed[i].what);
            end(&outcome);
        }
    }
}

static void changes__are_no_success_when_the_answer_is_not_json(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        const command_case_t *self = &command_cases[c];
        for (size_t i = 0; self->manner == CHANGES && i < sizeof malformed / sizeof malformed[0]; i++) {
            if (!is_no_json(i))
                continue;
            outcome_t outcome = play_case(self, (rule_t){"", 0, 200, NULL, malformed[i].body, malformed[i].ending, 0});
            if (outcome.code != (malformed[i].ending == CUT ? 7 : 125) || outcome.out[0] || !outcome.err[0])
                fail_case(self, &outcome, "answer: %s", malformed[i].what);
            end(&outcome);
        }
    }
}

static void a_change_without_a_key__is_sent_once_even_when_no_answer_comes(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        const command_case_t *self = &command_cases[c];
        if (self->manner != CHANGES)
            continue;
        outcome_t outcome = play_case(self, (rule_t){"", 0, 0, NULL, NULL, DROP, 0});
        /* POST and PATCH without a key may have taken effect; PUT, DELETE and keyed POST may be repeated. */
        bool keyed = strstr(outcome.broker->requests.data, "Idempotency-Key:") != NULL;
        bool acts = strncmp(self->request, "POST", 4) == 0 || strncmp(self->request, "PATCH", 5) == 0;
        int expected = acts && !keyed ? 1 : HELIO_REMOTE_ATTEMPTS;
        bool warned = strstr(outcome.err, "it is unknown whether the request was carried out") != NULL;
        if (outcome.code != 7 || warned != (expected == 1) ||
            broker_double_count(outcome.broker, "\n====\n") != expected)
            fail_case(self, &outcome, "expected %d requests", expected);
        end(&outcome);
    }
}

static void quiet__leaves_nothing_on_standard_error_when_all_is_well(void **state)
{
    (void)state;
    for (size_t c = 0; c < COMMAND_CASES; c++) {
        command_case_t self = command_cases[c];
        bool plain = self.manner == CHANGES && !strstr(self.request, "/v1/jobs ") && !strstr(self.request, "plans") &&
                     !strstr(self.request, "tokens ") && !strstr(self.request, "/channels ") && !has_own_options(&self);
        size_t count = 0;
        while (self.words[count])
            count++;
        for (int quiet = 0; plain && quiet < 2; quiet++) {
            self.words[count] = quiet ? "-q" : NULL;
            outcome_t outcome = play_case(&self, (rule_t){"", 0, 200, NULL, "{\"status\":\"set\"}", WHOLE, 0});
            if (outcome.code || outcome.out[0] || quiet == (outcome.err[0] != '\0'))
                fail_case(&self, &outcome, "quiet %d", quiet);
            end(&outcome);
        }
    }
}

static void a_broker_url__that_cannot_be_reached_is_named_with_a_remedy(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://127.0.0.1:1", "https://127.0.0.1:1", "http://nosuchhost.invalid"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        for (size_t c = 0; c < COMMAND_CASES; c += i ? 9 : 1) {
            const command_case_t *self = &command_cases[c];
            char *out, *err;
            if (self->manner == FOLLOWS)
                continue;
            int code = run_at(urls[i], self->words, self->input, NULL, &out, &err);
            if (code != 7 || out[0] || !strstr(err, urls[i]) || !strstr(err, "help: check that the broker runs there"))
                fail_msg("helio %s: exit %d\n%s\n%s", self->name, code, out, err);
            free(out);
            free(err);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases__cover_every_command_that_needs_a_broker),
        cmocka_unit_test(refusals__have_the_exit_code_of_the_manual_and_print_nothing_on_standard_output),
        cmocka_unit_test(unknown_names__exit_with_3_and_name_the_command_that_lists_them),
        cmocka_unit_test(readers__never_take_a_malformed_answer_for_an_empty_one),
        cmocka_unit_test(changes__are_no_success_when_the_answer_is_not_json),
        cmocka_unit_test(a_change_without_a_key__is_sent_once_even_when_no_answer_comes),
        cmocka_unit_test(quiet__leaves_nothing_on_standard_error_when_all_is_well),
        cmocka_unit_test(a_broker_url__that_cannot_be_reached_is_named_with_a_remedy),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
