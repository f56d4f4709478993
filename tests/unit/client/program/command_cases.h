/*  command_cases.h -- every command of helio that asks the broker, once: its words, its first request, and whether it
 *  only reads. Tests that hold for all commands go through this table. */
#ifndef HELIO_TESTS_CLIENT_COMMAND_CASES_H
#define HELIO_TESTS_CLIENT_COMMAND_CASES_H

#include "client/commands/commands.h"
#include "tests/unit/client/program/remote_testing.h"

/*  How a command treats a broker that fails: FOLLOWS retries it for about a minute, or goes on
 *  for as long as nobody ends it. */
typedef enum manner { READS, CHANGES, FOLLOWS } manner_t;

typedef struct command_case {
    const char *name; /* as in the table of commands */
    const char *words[10];
    const char *request; /* the beginning of its first request */
    manner_t manner;
    const char *input;
} command_case_t;

#define A_KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static const command_case_t command_cases[] = {
    {"run", {"run", "-"}, "POST /v1/jobs ", FOLLOWS, "run: echo\n"},
    {"submit", {"submit", "-"}, "POST /v1/jobs ", CHANGES, "run: echo\n"},
    {"plan", {"plan", "-"}, "POST /v1/plans ", CHANGES, "run: echo\n"},
    {"sbatch", {"sbatch"}, "POST /v1/jobs ", CHANGES, "#!/bin/sh\necho\n"},
    {"squeue", {"squeue"}, "GET /v1/jobs?limit=1000&state=queued", READS, ""},
    {"sacct", {"sacct", "-a"}, "GET /v1/jobs?limit=1000 ", READS, ""},
    {"scancel", {"scancel", ID_A}, "DELETE /v1/jobs/" ID_A " ", CHANGES, ""},
    {"scontrol", {"scontrol", "show", "job", ID_A}, "GET /v1/jobs/" ID_A " ", READS, ""},
    {"salloc", {"salloc", "-N1"}, "POST /v1/jobs ", CHANGES, ""},
    {"srun", {"srun", "hostname"}, "POST /v1/jobs ", CHANGES, ""},
    {"exec", {"exec", ID_A, "--", "ls", "-l"}, "POST /v1/jobs/" ID_A "/channels ", CHANGES, ""},
    {"shell", {"shell", ID_A}, "POST /v1/jobs/" ID_A "/channels ", CHANGES, ""},
    {"ls", {"ls"}, "GET /v1/jobs?limit=100&arrays=whole ", READS, ""},
    {"port-forward", {"port-forward", ID_A, ":8888"}, "GET /v1/jobs/" ID_A " ", FOLLOWS, ""},
    {"show", {"show", ID_A}, "GET /v1/jobs/" ID_A " ", READS, ""},
    {"explain", {"explain", ID_A}, "GET /v1/jobs/" ID_A "/explain ", READS, ""},
    {"logs", {"logs", ID_A}, "GET /v1/jobs/" ID_A "/logs?offset=0 ", FOLLOWS, ""},
    {"wait", {"wait", ID_A}, "GET /v1/", FOLLOWS, ""},
    {"cancel", {"cancel", ID_A}, "DELETE /v1/jobs/" ID_A " ", CHANGES, ""},
    {"edit", {"edit", ID_A, "--goal", "green"}, "PATCH /v1/jobs/" ID_A " ", CHANGES, ""},
    {"hold", {"hold", ID_A}, "POST /v1/jobs/" ID_A "/hold ", CHANGES, ""},
    {"requeue", {"requeue", ID_A}, "POST /v1/jobs/" ID_A "/requeue ", CHANGES, ""},
    {"release", {"release", ID_A}, "POST /v1/jobs/" ID_A "/release ", CHANGES, ""},
    {"sites", {"sites"}, "GET /v1/sites ", READS, ""},
    {"gpus", {"gpus"}, "GET /v1/gpus ", READS, ""},
    {"desired", {"desired", "lulea"}, "GET /v1/desired?site=lulea ", READS, ""},
    {"forecast", {"forecast", "lulea"}, "GET /v1/sites/lulea/forecast ", READS, ""},
    {"queues set", {"queues", "set", "q", "--priority", "5"}, "PUT /v1/queues/q ", CHANGES, ""},
    {"queues schedule", {"queues", "schedule", "q"}, "GET /v1/queues ", READS, ""},
    {"queues rm", {"queues", "rm", "q"}, "DELETE /v1/queues/q ", CHANGES, ""},
    {"queues", {"queues"}, "GET /v1/queues ", READS, ""},
    {"overflow set", {"overflow", "set", "o", "--queue", "q", "--step", "a"}, "PUT /v1/overflows/o ", CHANGES, ""},
    {"overflow list", {"overflow", "list"}, "GET /v1/overflows ", READS, ""},
    {"overflow rm", {"overflow", "rm", "o"}, "DELETE /v1/overflows/o ", CHANGES, ""},
    {"tenants set", {"tenants", "set", "t", "--weight", "2"}, "POST /v1/tenants ", CHANGES, ""},
    {"tenants", {"tenants"}, "GET /v1/tenants ", READS, ""},
    {"quota set", {"quota", "set", "t", "--burst", "8"}, "PUT /v1/quotas/t ", CHANGES, ""},
    {"quota", {"quota"}, "GET /v1/quotas ", READS, ""},
    {"data set", {"data", "set", "s3://a", "lulea"}, "PUT /v1/data ", CHANGES, ""},
    {"data rm", {"data", "rm", "s3://a"}, "DELETE /v1/data?prefix=s3%3A%2F%2Fa ", CHANGES, ""},
    {"data list", {"data", "list"}, "GET /v1/data ", READS, ""},
    {"links set", {"links", "set", "a", "b", "--gbps", "5"}, "PUT /v1/links ", CHANGES, ""},
    {"links rm", {"links", "rm", "a", "b"}, "DELETE /v1/links?from=a&to=b ", CHANGES, ""},
    {"links list", {"links", "list"}, "GET /v1/links ", READS, ""},
    {"top", {"top", "--once"}, "GET /v1/sites ", READS, ""},
    {"report", {"report"}, "GET /v1/report ", READS, ""},
    {"rehearse", {"rehearse", "--down", "lulea"}, "GET /v1/snapshot ", READS, ""},
    {"events", {"events"}, "GET /v1/events ", FOLLOWS, ""},
    {"drain", {"drain", "lulea", "--reason", "x"}, "POST /v1/sites/lulea/drain ", CHANGES, ""},
    {"undrain", {"undrain", "lulea"}, "POST /v1/sites/lulea/undrain ", CHANGES, ""},
    {"curtail",
     {"curtail", "lulea", "--to", "60%", "--for", "2h", "--reason", "why"},
     "POST /v1/sites/lulea/curtail ",
     CHANGES,
     ""},
    {"uncurtail", {"uncurtail", "lulea"}, "POST /v1/sites/lulea/uncurtail ", CHANGES, ""},
    {"curtailments", {"curtailments", "lulea"}, "GET /v1/curtailments?days=7&site=lulea ", READS, ""},
    {"attest", {"attest", "lulea", "--dead", "--reason", "x", "-y"}, "POST /v1/sites/lulea/attest ", CHANGES, ""},
    {"keys add", {"keys", "add", "lulea", A_KEY}, "POST /v1/sites ", CHANGES, ""},
    {"keys ls", {"keys", "ls"}, "GET /v1/keys ", READS, ""},
    {"keys revoke", {"keys", "revoke", "lulea", A_KEY}, "DELETE /v1/sites/lulea/keys?public_key=", CHANGES, ""},
    {"token add", {"token", "add", "--tenant", "t", "--user", "u"}, "POST /v1/tokens ", CHANGES, ""},
    {"token ls", {"token", "ls"}, "GET /v1/tokens ", READS, ""},
    {"token revoke", {"token", "revoke", "7c1d"}, "DELETE /v1/tokens/7c1d ", CHANGES, ""},
    {"user ls", {"user", "ls"}, "GET /v1/principals ", READS, ""},
    {"user disable", {"user", "disable", "u", "--tenant", "t"}, "POST /v1/principals ", CHANGES, ""},
    {"user enable", {"user", "enable", "u", "--tenant", "t"}, "POST /v1/principals ", CHANGES, ""},
    {"audit anchor", {"audit", "anchor"}, "GET /v1/audit?limit=1 ", READS, ""},
    {"audit verify", {"audit", "verify"}, "GET /v1/audit/verify ", READS, ""},
    {"audit", {"audit"}, "GET /v1/audit?limit=100 ", READS, ""},
};
enum { COMMAND_CASES = sizeof command_cases / sizeof command_cases[0] };

static inline const command_case_t *command_case_of(const char *name)
{
    for (size_t i = 0; i < COMMAND_CASES; i++)
        if (strcmp(command_cases[i].name, name) == 0)
            return &command_cases[i];
    return NULL;
}

/*  Its options are another program's. */
static inline bool has_own_options(const command_case_t *self)
{
    for (size_t i = 0; i < helio_commands.count; i++)
        if (strcmp(helio_commands.items[i].name, self->name) == 0)
            return helio_commands.items[i].words == HELIO_OPERANDS_PROGRAM;
    return false;
}

/*  Runs the command against a broker that answers everything by one rule. */
static inline outcome_t play_case(const command_case_t *self, rule_t rule)
{
    const rule_t rules[] = {rule, {0}};
    return play_with(rules, self->words, self->input);
}

/*  Fails with the name of the command and everything that it printed. */
#define fail_case(self, outcome, ...)                                                                              \
    do {                                                                                                           \
        print_error(__VA_ARGS__);                                                                                  \
        fail_msg("\nhelio %s: exit %d\n--out--\n%s\n--err--\n%s\n--requests--\n%s", (self)->name, (outcome)->code, \
                 (outcome)->out, (outcome)->err, (outcome)->broker->requests.data);                                \
    } while (0)

#endif
