/*  test_remote_keys.c -- the keys of sites: which are sent, and which are revoked. */
#include "tests/unit/client/program/remote_testing.h"

static void keys_revoke__without_a_key_revokes_all_that_are_in_force(void **state)
{
    (void)state;
    static const char keys[] = "[{\"site\":\"lulea\",\"public_key\":\"aaa\",\"revoked_at\":null},"
                               "{\"site\":\"oregon\",\"public_key\":\"bbb\",\"revoked_at\":null},"
                               "{\"site\":\"lulea\",\"public_key\":\"ccc\",\"revoked_at\":\"2026-01-01T00:00:00Z\"},"
                               "{\"site\":\"lulea\",\"public_key\":\"d/d\",\"revoked_at\":null}]";
    outcome_t outcome = play(RULES({"GET /v1/keys", 0, 200, NULL, keys, WHOLE, 0},
                                   {"DELETE /v1/sites/lulea/keys?public_key=", 0, 200, NULL, "{}", WHOLE, 0}),
                             WORDS("keys", "revoke", "lulea"));
    expect(&outcome, 0, "", "revoked aaa of site lulea");
    assert_int_equal(broker_double_count(outcome.broker, "DELETE "), 2);
    assert_int_equal(broker_double_count(outcome.broker, "?public_key=d%2Fd "), 1);
    end(&outcome);
    outcome = play(RULES({"GET /v1/keys", 0, 200, NULL, keys, WHOLE, 0}), WORDS("keys", "revoke", "kiruna"));
    expect(&outcome, HELIO_EXIT_NOT_FOUND, "", "no key in force");
    assert_int_equal(broker_double_count(outcome.broker, "DELETE "), 0);
    end(&outcome);
}

static void keys_add__sends_no_secret(void **state)
{
    (void)state;
    char path[] = "/tmp/helio-key-XXXXXX";
    int fd = mkstemp(path);
    static const char file[] = "curve\n    public-key = \"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\"\n"
                               "    secret-key = \"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\"\n";
    assert_true(write(fd, file, sizeof file - 1) == (ssize_t)(sizeof file - 1));
    close(fd);
    outcome_t outcome =
        play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}), WORDS("keys", "add", "lulea", path));
    expect(&outcome, 2, "", "holds a secret key");
    assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
    end(&outcome);
    outcome = play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}),
                   WORDS("keys", "add", "lulea", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"));
    expect(&outcome, 0, "", "site lulea is admitted");
    assert_int_equal(broker_double_count(outcome.broker, "\"public_key\":\"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\""),
                     1);
    end(&outcome);
    unlink(path);
}

#define KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define OTHER "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

/*  What a file of a public key may hold; errors name the line. */
static void keys_add__reads_the_key_of_a_file_and_no_word_of_its_comments(void **state)
{
    (void)state;
    static const struct {
        const char *text, *err; /* NULL = KEY is sent */
    } cases[] = {
        {KEY "\n", NULL},
        {"\n  " KEY "\r\n\n", NULL},
        {KEY, NULL},
        {"# /home/ada/sites/lulea/agents/key/agent.pu\n" KEY "\n", NULL}, /* the path has 40 characters */
        {"# made on 2026-01-01 at\n#\n" KEY "\n# the end\n", NULL},
        {"metadata\ncurve\n    public-key = \"" KEY "\"\n", NULL},
        {"public-key=" KEY "\n", NULL},
        {"/home/ada/sites/lulea/agents/key/agent.pu\n" KEY "\n", ":1: is not a public key of 40 characters"},
        {"# comment\n" KEY "0\n", ":2: is not a public key of 40 characters"},
        {KEY "\n" OTHER "\n", ":2: is a second public key, after that of line 1"},
        {KEY " lulea\n", ":1: is not a public key"},
        {"public-key = \"" KEY "\"\nsecret-key = \"" OTHER "\"\n", ":2: holds a secret key"},
        {"# nothing else\n", ": holds no public key"},
        {"", ": holds no public key; the file is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/helio-key-XXXXXX";
        int fd = mkstemp(path);
        size_t size = strlen(cases[i].text);
        assert_true(write(fd, cases[i].text, size) == (ssize_t)size);
        close(fd);
        outcome_t outcome =
            play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}), WORDS("keys", "add", "lulea", path, "-q"));
        expect(&outcome, cases[i].err ? 2 : 0, "", cases[i].err);
        if (broker_double_count(outcome.broker, "\"public_key\":\"" KEY "\"") != !cases[i].err)
            fail_msg("case %zu: %s", i, outcome.err);
        end(&outcome);
        unlink(path);
    }
}

/*  Its text looks like that of a public one: the file beside it tells. */
static void keys_add__refuses_the_secret_key_of_a_pair(void **state)
{
    (void)state;
    char folder[] = "/tmp/helio-keys-XXXXXX", secret[64], public[64], large[5000];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(secret, sizeof secret, "%s/agent.key", folder);
    (void)snprintf(public, sizeof public, "%s/agent.key.pub", folder);
    memset(large, '#', sizeof large);
    const char *const texts[][2] = {{secret, OTHER "\n"}, {public, KEY "\n"}};
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(texts[i][0], "we");
        assert_true(file && fputs(texts[i][1], file) >= 0 && fclose(file) == 0);
    }
    outcome_t outcome =
        play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}), WORDS("keys", "add", "lulea", secret));
    expect(&outcome, 2, "", "is the secret key of a pair");
    assert_int_equal(broker_double_count(outcome.broker, "POST"), 0);
    end(&outcome);
    outcome =
        play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}), WORDS("keys", "add", "lulea", public, "-q"));
    expect(&outcome, 0, "", NULL);
    end(&outcome);
    unlink(secret);
    FILE *file = fopen(public, "we");
    assert_true(file && fwrite(large, 1, sizeof large, file) == sizeof large && fclose(file) == 0);
    const char *const unreadable[][2] = {
        {public, "it is too large"}, {folder, "Is a directory"}, {secret, "No such file"}, {"/dev/zero", "not text"}};
    unlink(secret);
    for (size_t i = 0; i < sizeof unreadable / sizeof unreadable[0]; i++) {
        if (i == 2)
            unlink(public);
        outcome = play(RULES({"POST /v1/sites", 0, 201, NULL, "{}", WHOLE, 0}),
                       WORDS("keys", "add", "lulea", unreadable[i][0]));
        expect(&outcome, 2, "", unreadable[i][1]);
        end(&outcome);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void keys_revoke__of_a_name_without_keys_says_which_was_meant(void **state)
{
    (void)state;
    static const char keys[] = "[{\"site\":\"lulea\",\"public_key\":\"aaa\",\"revoked_at\":null},"
                               "{\"site\":\"luleas\",\"public_key\":\"ccc\",\"revoked_at\":\"2026-01-01T00:00:00Z\"}]";
    outcome_t outcome = play(RULES({"GET /v1/keys", 0, 200, NULL, keys, WHOLE, 0}), WORDS("keys", "revoke", "luela"));
    expect(&outcome, HELIO_EXIT_NOT_FOUND, "", "did you mean 'lulea'?");
    end(&outcome);
    outcome = play(RULES({"GET /v1/keys", 0, 200, NULL, keys, WHOLE, 0}), WORDS("keys", "revoke", "kiruna"));
    expect(&outcome, HELIO_EXIT_NOT_FOUND, "", "`helio keys ls` lists the keys");
    assert_null(strstr(outcome.err, "did you mean"));
    end(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_add__reads_the_key_of_a_file_and_no_word_of_its_comments),
        cmocka_unit_test(keys_add__refuses_the_secret_key_of_a_pair),
        cmocka_unit_test(keys_revoke__of_a_name_without_keys_says_which_was_meant),
        cmocka_unit_test(keys_add__sends_no_secret),
        cmocka_unit_test(keys_revoke__without_a_key_revokes_all_that_are_in_force),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
