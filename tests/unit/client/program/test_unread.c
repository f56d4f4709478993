/*  test_unread.c -- commands that print as long as there is something to print end when nobody reads on, without a message. */
#include "tests/unit/client/program/remote_testing.h"

static int run_unread(const rule_t *rules, const char *const *words, char **ret_said)
{
    broker_double_t *broker = broker_double_new(rules);
    char variable[80], *environment[] = {variable, NULL}, *argv[8] = {(char *)(uintptr_t) "helio"};
    int argc = 1, ends[2];
    size_t size;
    (void)snprintf(variable, sizeof variable, "HELIO_BROKER=http://127.0.0.1:%d", broker->port);
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    FILE *out = fdopen(ends[1], "w"), *err = open_memstream(ret_said, &size);
    helio_client_io_t io = {.in = stdin,
                            .out = out,
                            .err = err,
                            .environment = environment,
                            .directory = "/nonexistent",
                            .system_settings = "/nonexistent",
                            .interrupt_fd = -1,
                            .patience_ms = 2};
    int code = helio_client_main(argc, argv, &io);
    (void)fclose(out);
    (void)fclose(err);
    broker_double_stop(broker);
    broker_double_destroy(&broker);
    return code;
}

/*  The rows of a table, and streams that the broker would hold open for as long as the job runs. */
static void output__that_nobody_reads_ends_the_command(void **state)
{
    (void)state;
    static const char event[] = "id: 3\nevent: transition\ndata: {\"id\":\"" ID_A "\",\"to\":\"running\"}\n\n";
    const rule_t rules[] = {{"GET /v1/jobs?", 0, 200, NULL, "{\"jobs\":[" JOB(ID_A, "running", "") "]}", WHOLE, 0},
                            {"GET /v1/jobs/" ID_A "/logs", 0, 200, NULL, "step 1\n", HOLD, 0},
                            {"GET /v1/jobs/" ID_A " ", 0, 200, NULL, JOB(ID_A, "running", ""), WHOLE, 0},
                            {"GET /v1/events", 0, 200, NULL, event, HOLD, 0},
                            {0}};
    static const char *const commands[][5] = {
        {"ls"},           {"ls", "-o", "json"},
        {"show", ID_A},   {"logs", "-f", ID_A},
        {"events", "-f"}, {"events", "-f", "-o", "jsonl"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *said;
        int code = run_unread(rules, commands[i], &said);
        if (code != HELIO_EXIT_UNREAD || said[0])
            fail_msg("%s: exit %d: %s", commands[i][0], code, said);
        free(said);
    }
}

int main(void)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    const struct CMUnitTest tests[] = {cmocka_unit_test(output__that_nobody_reads_ends_the_command)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
