/*  option.h -- the options of the command line: one table for all commands, so that an option means the same
 *  everywhere. */
#ifndef HELIO_CLIENT_OPTION_H
#define HELIO_CLIENT_OPTION_H

#include "federation/arguments/command_line.h"

/*  name, long form, letter (0 = none), value (NULL = a switch), choices separated by spaces (NULL = any), doc
 */
#define HELIO_OPTION_TABLE(X)                                                                             \
    X(BROKER, "broker", 0, "URL", NULL, "The broker to speak to, such as https://broker.example")         \
    X(CONTEXT, "context", 0, "NAME", NULL, "Use this context of the settings files")                      \
    X(TOKEN_FILE, "token-file", 0, "PATH", NULL, "File with the token, readable by its owner only")       \
    X(CA_FILE, "ca-file", 0, "PATH", NULL, "Certificates to trust instead of the system's")               \
    X(OUTPUT, "output", 'o', "FORMAT", "table wide json jsonl csv name", "How data is printed")           \
    X(COLOR, "color", 0, "WHEN", "auto always never", "Colour; auto: on terminals without NO_COLOR")      \
    X(QUIET, "quiet", 'q', NULL, NULL, "No progress on standard error")                                   \
    X(HELP, "help", 'h', NULL, NULL, "Explain the command and stop")                                      \
    X(YES, "yes", 'y', NULL, NULL, "Do not ask for confirmation")                                         \
    X(IDEMPOTENCY_KEY, "idempotency-key", 0, "KEY", NULL,                                                 \
      "Submitting again with the same key and jobs gives the same ids")                                   \
    X(TIMEOUT, "timeout", 0, "DURATION", NULL, "Give up after this long (90s, 15m, 6h) with exit code 8") \
    X(KEEP_WAITING, "keep-waiting", 0, NULL, NULL, "Also for a held job to be released")                  \
    X(FOLLOW, "follow", 'f', NULL, NULL, "Go on printing what is new")                                    \
    X(STATE, "state", 's', "STATES", NULL, "Only jobs in these states: running,queued")                   \
    X(QUEUE, "queue", 0, "QUEUE", NULL, "Of this queue; edit: move to it")                                \
    X(NAME, "name", 'n', "NAME", NULL, "Only jobs of this name")                                          \
    X(LIMIT, "limit", 'l', "N", NULL, "At most this many rows (100)")                                     \
    X(ALL, "all", 'a', NULL, NULL, "All rows, however many")                                              \
    X(REASON, "reason", 'r', "TEXT", NULL, "Why, for the other operators and the audit")                  \
    X(DEAD, "dead", 0, NULL, NULL, "Attest that nothing of the site's attempts runs any more")            \
    X(AFTER, "after", 0, "SEQ", NULL, "Begin after the event of this number")                             \
    X(EPOCH, "epoch", 0, "N", NULL, "The log of this attempt instead of the latest")                      \
    X(TENANT, "tenant", 0, "NAME", NULL, "The tenant that it is for")                                       \
    X(USER, "user", 0, "NAME", NULL, "The token's user")                                                  \
    X(ROLE, "role", 0, "ROLE", "user operator admin", "What the token may do")                            \
    X(DAYS, "days", 0, "N", NULL, "The last N days, today among them (7)")                                \
    X(BALANCE, "balance", 0, NULL, NULL, "What sites are booked with, beside what their meters say")        \
    X(SIGNAL, "signal", 0, "SIGNAL", "carbon price electricity free pue power reserved", "Only this one") \
    X(HOURS, "hours", 0, "N", NULL, "So many hours ahead (48)")                                           \
    X(TTL, "ttl", 0, "DURATION", NULL, "How long the token is valid (90d)")                               \
    X(GUARANTEED, "guaranteed", 0, "GPUS", NULL, "GPUs that it gets before others get more")              \
    X(BURST, "burst", 0, "GPUS", NULL, "GPUs that it may hold at once, over all sites; none: no limit")   \
    X(WEIGHT, "weight", 0, "NUMBER", NULL, "Its part beside others' where GPUs are contended (1)")        \
    X(BUDGET, "budget", 0, "BUDGET", NULL, "What it may spend: '5000 gpu-h/month', 'none'; once a budget")  \
    X(HOME, "home", 0, "SITE", NULL, "Its home site, where its jobs would run without a federation; none")  \
    X(GBPS, "gbps", 0, "NUMBER", NULL, "What the link carries, in Gbit/s")                              \
    X(EGRESS, "egress", 0, "USD", NULL, "What a GB costs that leaves over it (0)")                        \
    X(RTT, "rtt", 0, "MS", NULL, "Its round trip in milliseconds (0)")                                     \
    X(PRIORITY, "priority", 0, "N", NULL,                                                                  \
      "Who goes first, the higher number: of queues within a tier, of jobs within a tenant's of a queue")  \
    X(TIER, "tier", 0, "TIER", "best-effort standard critical", "Who goes first of all, and who gives way")  \
    X(TIME, "time", 0, "DURATION", NULL, "The time limit of jobs that name none (24h)")                      \
    X(REGION, "region", 0, "REGION", NULL, "At the sites of this region alone (EU is EU-… too)")             \
    X(FOR, "for", 0, "DURATION", NULL, "For so long, from now on")                                           \
    X(CLEAR, "clear", 0, NULL, NULL, "End what --for began")                                                 \
    X(REMOVE, "remove", 0, NULL, NULL, "Remove the rule")                                                    \
    X(STEP, "step", 0, "STEP", NULL, "Sites, and when they open: 'cloud,after=30m,max-price=3'; once a step")  \
    X(GOAL, "goal", 0, "GOAL", "fast cheap balanced green follow-the-sun", "What matters most")            \
    X(DEADLINE, "deadline", 0, "TIME", NULL, "When it should be finished: 2026-11-22T07:00:00Z; none")     \
    X(FLEXIBLE, "flexible", 0, "DURATION", NULL, "How long it may wait for a better hour; none")           \
    X(MAX_COST, "max-cost", 0, "MONEY", NULL, "Most that it may cost: '400 USD'; none")                    \
    X(MAX_CARBON, "max-carbon", 0, "INTENSITY", NULL, "Dirtiest power to start on: '250 g/kWh'; none")     \
    X(ONCE, "once", 0, NULL, NULL, "Print it once and stop")                                               \
    X(MAN, "man", 0, NULL, NULL, "Print the manual page in roff")                                         \
    X(VERSION, "version", 'V', NULL, NULL, "Print the version and stop")

typedef enum helio_option_id {
#define HELIO_OPTION_ENUMERATOR(name, ...) HELIO_OPTION_##name,
    HELIO_OPTION_TABLE(HELIO_OPTION_ENUMERATOR)
#undef HELIO_OPTION_ENUMERATOR
        HELIO_OPTION_COUNT
} helio_option_id_t;

/*  The set of one. */
#define HELIO_OPTION(name) (UINT64_C(1) << HELIO_OPTION_##name)
/*  What every command takes. */
#define HELIO_OPTIONS_EVERYWHERE                                                                       \
    (HELIO_OPTION(BROKER) | HELIO_OPTION(CONTEXT) | HELIO_OPTION(TOKEN_FILE) | HELIO_OPTION(CA_FILE) | \
     HELIO_OPTION(OUTPUT) | HELIO_OPTION(COLOR) | HELIO_OPTION(QUIET) | HELIO_OPTION(HELP))

extern const helio_option_table_t helio_client_options;

enum { HELIO_OPERANDS_MAX = 4096 };

/*  takes_rest: of the command whose words follow another program's rules. */
HELIO_MUST_CHECK helio_rc helio_client_options_parse(int argc, char *const *argv,
                                                     bool (*takes_rest)(const char *first_word), helio_arena_t *arena,
                                                     helio_command_line_t *ret_line, helio_error_t *err);

#endif
