/*  remote_testing.h -- the client against a double of the broker.
 *
 *  Whole commands against a scripted broker that refuses, stumbles, lies and dies.
 */
#ifndef HELIO_TESTS_CLIENT_REMOTE_TESTING_H
#define HELIO_TESTS_CLIENT_REMOTE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <locale.h>

#include "client/invocation/settings.h"
#include "client/transport/remote.h"
#include "federation/base/clock.h"
#include "tests/unit/client/program/broker_double.h"
#include "tests/unit/client/program/run_client.h"

#define ID_A "01k9x2m4q8r7aaaabbbbccccdd"
#define ID_B "01k9x2m4q8r7aaaabbbbccccee"

#define JOB(id, state, more) \
    "{\"id\":\"" id "\",\"name\":\"train\",\"state\":\"" state "\",\"site\":\"lulea\",\"epoch\":1" more "}"

#define SUBMITTED_A "{\"jobs\":[{\"id\":\"" ID_A "\",\"existed\":false}]}"
#define SECRET "hel_abcdef_verysecretvalue"
#define RULES(...) ((const rule_t[]){__VA_ARGS__, {0}})

typedef struct outcome {
    int code;
    char *out;
    char *err;
    broker_double_t *broker; /* stopped */
} outcome_t;

static inline int run_at(const char *url, const char *const *words, const char *input, broker_double_t *broker,
                         char **ret_out, char **ret_err)
{
    char broker_variable[160], token_variable[] = "HELIO_TOKEN=" SECRET;
    (void)snprintf(broker_variable, sizeof broker_variable, "HELIO_BROKER=%s", url);
    char *environment[] = {broker_variable, token_variable, (char *)(uintptr_t) "TZ=UTC", NULL};
    presses_t presses = broker ? (presses_t){&broker->presses, broker->press_pipe[0]} : NO_PRESSES;
    return run_client(words, input, environment, presses, ret_out, ret_err);
}

static inline outcome_t play_with(const rule_t *rules, const char *const *words, const char *input)
{
    outcome_t outcome = {.broker = broker_double_new(rules)};
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", outcome.broker->port);
    outcome.code = run_at(url, words, input, outcome.broker, &outcome.out, &outcome.err);
    broker_double_stop(outcome.broker);
    if (strstr(outcome.out, SECRET) || strstr(outcome.err, SECRET))
        fail_msg("the token was printed");
    return outcome;
}

static inline outcome_t play(const rule_t *rules, const char *const *words)
{
    return play_with(rules, words, "");
}

static inline void end(outcome_t *outcome)
{
    free(outcome->out);
    free(outcome->err);
    broker_double_destroy(&outcome->broker);
}

static inline void expect(const outcome_t *outcome, int code, const char *out, const char *err_part)
{
    bool good = outcome->code == code && (!out || strcmp(outcome->out, out) == 0) &&
                (!err_part || strstr(outcome->err, err_part) != NULL);
    if (!good)
        fail_msg("exit %d instead of %d\n--out--\n%s\n--err--\n%s\n--requests--\n%s", outcome->code, code, outcome->out,
                 outcome->err, outcome->broker->requests.data);
}

#endif
