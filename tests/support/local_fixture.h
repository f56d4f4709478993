/*  local_fixture.h -- a site in a temporary folder, with the real shim and real processes. */
#ifndef HELIO_TESTS_LOCAL_FIXTURE_H
#define HELIO_TESTS_LOCAL_FIXTURE_H

#include "federation/reason/codes.h"
#include "site-agent/backends/local/local.h"

enum { SITE_EVENTS_MAX = 64, SITE_USERS_MAX = 4 };

typedef struct heard {
    helio_aev_backend_t event; /* its texts are below */
    char explanation[257];
    char local_id[64];
} heard_t;

typedef struct site {
    char dir[64];
    char self_name[64]; /* the user that runs the tests */
    helio_backend_t *backend;
    helio_user_rule_t users[SITE_USERS_MAX];
    helio_job_rules_t rules;
    const char *shim;   /* NULL = the real one */
    const char *cgroup; /* parent of the attempts' control groups; NULL = they have none */
    /*  What measures its GPUs; NULL = nothing. From the next site_reopen on. */
    void *energy_arg;
    void (*energy_take)(void *arg, const char *attempt, const uint32_t *gpus, uint32_t count);
    uint64_t (*energy_give)(void *arg, const char *attempt, bool ran, int64_t ended_wall_ms);
    heard_t heard[SITE_EVENTS_MAX];
    uint32_t heard_count;
    uint32_t hindrances, surveys; /* how often the survey was hindered, and complete */
    char hindrance[512];          /* the last one */
    uint32_t doubts;              /* how often something was not believed */
    char doubt[512];              /* the last one */
} site_t;

/*  An attempt to start: zero-initialised means one node, no GPU, strict, no limit, user ada of tenant acme. */
typedef struct attempt {
    uint32_t epoch; /* 0 = 1 */
    const char *run;
    helio_job_spec_t spec;
    helio_order_t order;
    helio_slot_t slots[4];
    uint32_t slot_count;
} attempt_t;

void site_open(site_t *site);   /* jobs run as the user that runs the tests */
void site_reopen(site_t *site); /* the agent is restarted */
void site_close(site_t *site);  /* removes the folder */

helio_job_key_t site_key(void);
void site_start(site_t *site, attempt_t *attempt);
void site_adopt(site_t *site, uint32_t epoch);
/*  Epochs 1 and 2 have a lease until then. */
helio_rc site_lease(site_t *site, int64_t deadline_boot_ms);
void site_stop(site_t *site, uint32_t epoch, uint32_t mode);
/*  Drives the backend until this many events have come in total; fails the test after 10 s. */
const heard_t *site_wait(site_t *site, uint32_t events);
/*  Drives it until the log of epoch 1 holds the text. */
void site_wait_log(site_t *site, const char *text);
void site_drive(site_t *site, int64_t ms);
/*  The whole log; the caller clears it. */
void site_log(site_t *site, uint32_t epoch, helio_buffer_t *out);
/*  "attempts/helio-…-1/claim" of the folder; capacity 512. */
const char *site_path(const site_t *site, const char *room, uint32_t epoch, const char *file, char ret_path[512]);
/*  A file's bytes, followed by a NUL; the caller clears it. False: the file does not exist. */
bool read_whole(const char *path, helio_buffer_t *out);
long read_number(const char *path); /* -1 = none */
bool is_alive(long pid);
/*  The process number of the shim that has claimed the attempt. */
long site_shim(const site_t *site, uint32_t epoch);

#endif
