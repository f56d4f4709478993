/*  Signatures are those of Standard Webhooks; commands get what they need and nothing else; files of secrets are checked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/notify/sender.h"
#include "federation/base/clock.h"
#include "tests/support/folder.h"

static void put(const char *root, const char *name, const char *text, mode_t mode)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static helio_rc load(const char *root, helio_arena_t *arena, helio_notify_config_t *ret_config,
                     helio_buffer_t *complaint)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/notify.yaml", root);
    return helio_notify_config_load(path, false, arena, ret_config, complaint);
}

/*  The published example of the convention. */
static void signatures__are_those_of_the_convention(void **state)
{
    (void)state;
    char root[] = "/tmp/helio-notify-sign-XXXXXX";
    assert_non_null(mkdtemp(root));
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0}, signature = {0};
    helio_notify_config_t config;
    put(root, "secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0600);
    put(root, "notify.yaml",
        "state: s\ntargets: [{name: a, url: 'https://x.example', secret_file: secret, on: [job_ended]}]\n", 0644);
    if (load(root, arena, &config, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
    helio_sender_sign(config.ways[0].secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                      HELIO_TEXT("{\"test\": 2432232314}"), &signature);
    assert_string_equal(signature.data, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_int_equal(folder_remove(root), 0);
}

static void files_of_secrets__are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *secret;
        mode_t mode;
        const char *complaint;
    } cases[] = {
        {"a secret that is long enough", 0644, "chmod 600"},
        {"tiny", 0600, "shorter than 16 bytes"},
        {"whsec_not base64", 0600, "not base64"},
        {"a secret that is long enough", 0600, NULL},
    };
    char root[] = "/tmp/helio-notify-secret-XXXXXX";
    assert_non_null(mkdtemp(root));
    put(root, "notify.yaml",
        "state: s\ntargets: [{name: a, url: 'https://x.example', secret_file: secret, on: [job_ended]}]\n", 0644);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
        helio_notify_config_t config;
        put(root, "secret", cases[i].secret, cases[i].mode);
        helio_rc rc = load(root, arena, &config, &complaint);
        assert_int_equal(rc == HELIO_OK, !cases[i].complaint);
        if (rc == HELIO_OK)
            assert_true(helio_text_is(config.ways[0].secret, cases[i].secret));
        else if (!strstr(complaint.data, cases[i].complaint) || strstr(complaint.data, cases[i].secret))
            fail_msg("%s", complaint.data);
    }
    assert_int_equal(folder_remove(root), 0);
}

typedef struct ends {
    uint32_t count;
    helio_outbox_outcome_t outcomes[4]; /* by target */
    char complaints[4][256];
} ends_t;

static void on_done(void *arg, helio_outbox_attempt_t attempt, const helio_outbox_outcome_t *outcome,
                    const char *complaint)
{
    ends_t *ends = arg;
    ends->count++;
    ends->outcomes[attempt.target] = *outcome;
    (void)snprintf(ends->complaints[attempt.target], sizeof ends->complaints[0], "%s", complaint);
}

static void wait_for(helio_sender_t *sender, ends_t *ends, uint32_t count)
{
    while (ends->count < count) {
        int64_t wait_ms = helio_sender_next_ms(sender) - helio_clock_boot_ms();
        struct pollfd event = {.fd = helio_sender_fd(sender), .events = POLLIN};
        (void)poll(&event, 1, wait_ms < 0 ? 0 : wait_ms > 5000 ? 5000 : (int)wait_ms);
        helio_sender_process(sender, helio_clock_boot_ms());
    }
}

static void commands__get_body_and_environment_and_are_ended_in_time(void **state)
{
    (void)state;
    char root[] = "/tmp/helio-notify-command-XXXXXX", file[2048];
    assert_non_null(mkdtemp(root));
    (void)snprintf(
        file, sizeof file,
        "state: s\ntargets:\n"
        "  - {name: a, on: [job_ended], command: [/bin/sh, -c, 'env >%s/env; cat >%s/body; echo \"$0\" >%s/word', 'a b;c']}\n"
        "  - {name: b, on: [job_ended], command: [/bin/sh, -c, 'exit 7']}\n"
        "  - {name: c, on: [job_ended], timeout: 100ms, command: [/bin/sh, -c, 'sleep 1000 & wait']}\n"
        "  - {name: d, on: [job_ended], command: [no-such-program-anywhere]}\n",
        root, root, root);
    put(root, "notify.yaml", file, 0644);
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_notify_config_t config;
    if (load(root, arena, &config, &complaint) != HELIO_OK)
        fail_msg("%s", complaint.data);
    char *environment[] = {(char *)(uintptr_t) "PATH=/usr/bin:/bin", (char *)(uintptr_t) "HELIO_TOKEN=hel_secret",
                           NULL};
    ends_t ends = {.count = 0};
    helio_sender_t *sender = NULL;
    helio_error_t err;
    assert_int_equal(helio_sender_new(&config, environment, on_done, &ends, &sender, &err), HELIO_OK);
    static const char message[] =
        "{\"id\":\"m\",\"event\":\"job_ended\",\"text\":\"It\\nended.\",\"job\":{\"id\":\"j\",\"user\":\"ana\"}}";
    for (uint32_t i = 0; i < 4; i++)
        helio_sender_start(sender, (helio_outbox_attempt_t){.target = i, .number = i + 1}, "m", helio_text_of(message));
    assert_int_equal(helio_sender_under_way(sender), 4);
    wait_for(sender, &ends, 4);
    assert_int_equal(helio_outbox_judge(&ends.outcomes[0]), HELIO_OUTBOX_DELIVERED);
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(helio_outbox_judge(&ends.outcomes[i]), HELIO_OUTBOX_RETRY);
    assert_non_null(strstr(ends.complaints[1], "exited with 7"));
    assert_non_null(strstr(ends.complaints[2], "took too long"));
    assert_non_null(strstr(ends.complaints[3], "cannot be run"));
    helio_sender_destroy(&sender);

    HELIO_AUTO(helio_buffer_clear) helio_buffer_t command = {0};
    helio_buffer_printf(
        &command,
        "cd %s && grep -qx 'HELIO_TEXT=It ended.' env && grep -qx HELIO_JOB=j env && grep -qx HELIO_USER=ana "
        "env && grep -qx HELIO_EVENT=job_ended env && ! grep -q hel_secret env && grep -qx 'a b;c' word && "
        "grep -q '\"text\":' body",
        root);
    assert_int_equal(system(command.data), 0);
    assert_int_equal(folder_remove(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures__are_those_of_the_convention),
        cmocka_unit_test(files_of_secrets__are_checked),
        cmocka_unit_test(commands__get_body_and_environment_and_are_ended_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
