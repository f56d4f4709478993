/*  local_fixture.c -- drives the backend `local` in a temporary folder, and collects its events. */
#include "tests/support/folder.h"
#include "tests/support/local_fixture.h"

#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/shim/plan.h"
#include "site-agent/shim/process.h"

static void on_event(void *arg, const helio_aev_backend_t *event)
{
    site_t *site = arg;
    assert_true(site->heard_count < SITE_EVENTS_MAX);
    heard_t *heard = &site->heard[site->heard_count++];
    heard->event = *event;
    (void)helio_text_copy(event->explanation, heard->explanation, sizeof heard->explanation);
    (void)helio_text_copy(event->local_id, heard->local_id, sizeof heard->local_id);
}

static void on_survey(void *arg, const char *hindrance)
{
    site_t *site = arg;
    site->hindrances += hindrance != NULL;
    site->surveys += hindrance == NULL;
    if (hindrance)
        (void)snprintf(site->hindrance, sizeof site->hindrance, "%s", hindrance);
}

static void on_doubt(void *arg, const char *text)
{
    site_t *site = arg;
    site->doubts++;
    (void)snprintf(site->doubt, sizeof site->doubt, "%s", text);
}

static void create(site_t *site)
{
    helio_local_options_t options = {
        .state_dir = site->dir,
        .shim = site->shim ? site->shim : HELIO_SHIM_PATH,
        .site = HELIO_TEXT("lulea"),
        .rules = &site->rules,
        .lease_margin_ms = 60000,
        .cgroup = site->cgroup,
        .processes_max = 500,
        .energy_arg = site->energy_arg,
        .energy_take = site->energy_take,
        .energy_give = site->energy_give,
        .sink = {.arg = site, .on_event = on_event, .on_doubt = on_doubt, .on_survey = on_survey}};
    helio_error_t err = {0};
    if (helio_local_new(&options, &site->backend, &err))
        fail_msg("%s", err.text);
}

void site_open(site_t *site)
{
    (void)snprintf(site->dir, sizeof site->dir, "/tmp/helio-local-XXXXXX");
    assert_non_null(mkdtemp(site->dir));
    assert_int_equal(chmod(site->dir, 0711), 0);
    const struct passwd *me = getpwuid(geteuid());
    assert_non_null(me);
    (void)snprintf(site->self_name, sizeof site->self_name, "%s", me->pw_name);
    site->users[0] =
        (helio_user_rule_t){HELIO_TEXT("acme"), HELIO_TEXT("*"), helio_text_of(site->self_name), true, {0}, false};
    site->rules = (helio_job_rules_t){
        .path = HELIO_TEXT("/usr/bin:/bin"), .grace_ms = 300, .retention_ms = 1000, .log_max_bytes = 1 << 20};
    site->rules.users.items = site->users;
    site->rules.users.count = 1;
    create(site);
}

void site_reopen(site_t *site)
{
    helio_backend_destroy(&site->backend);
    create(site);
}

void site_close(site_t *site)
{
    helio_backend_destroy(&site->backend);
    (void)folder_remove(site->dir);
}

helio_job_key_t site_key(void)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    for (size_t i = 0; i < sizeof key.job.bytes; i++)
        key.job.bytes[i] = (uint8_t)(i * 7 + 1);
    return key;
}

void site_start(site_t *site, attempt_t *attempt)
{
    helio_job_key_t key = site_key();
    if (attempt->order.key.task > 0)
        key.task = attempt->order.key.task;
    attempt->order.key = key;
    attempt->order.epoch = attempt->epoch ? attempt->epoch : 1;
    if (!attempt->order.tenant.size) {
        attempt->order.tenant = HELIO_TEXT("acme");
        attempt->order.user = HELIO_TEXT("ada");
    }
    attempt->order.nodes = attempt->slot_count ? attempt->slot_count : 1;
    attempt->spec.run = helio_text_of(attempt->run);
    helio_backend_task_t task = {
        .order = &attempt->order, .spec = &attempt->spec, .slots = attempt->slots, .slot_count = attempt->slot_count};
    site->backend->class->start(site->backend, &task);
}

void site_adopt(site_t *site, uint32_t epoch)
{
    helio_order_t order = {.key = site_key(), .epoch = epoch};
    helio_job_spec_t spec = {0};
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    site->backend->class->adopt(site->backend, &task);
}

helio_rc site_lease(site_t *site, int64_t deadline_boot_ms)
{
    helio_attempt_ref_t attempts[] = {{site_key(), 1}, {site_key(), 2}};
    helio_afx_lease_t lease = {.deadline_boot_ms = deadline_boot_ms, .attempts = {attempts, 2}};
    return site->backend->class->lease(site->backend, &lease, NULL);
}

void site_stop(site_t *site, uint32_t epoch, uint32_t mode)
{
    helio_stop_t stop = {.key = site_key(), .epoch = epoch, .mode = mode};
    site->backend->class->stop(site->backend, &stop);
}

/*  One turn of an agent's loop. */
static void turn(site_t *site, int64_t until_ms)
{
    const helio_backend_class_t *class = site->backend->class;
    int64_t now_ms = helio_clock_boot_ms();
    int64_t next_ms = class->next_ms(site->backend);
    int64_t until = next_ms < until_ms ? next_ms : until_ms;
    struct pollfd fd = {.fd = class->fd(site->backend), .events = POLLIN};
    (void)poll(&fd, 1, until > now_ms ? (int)(until - now_ms) : 0);
    class->process(site->backend, helio_clock_boot_ms(), helio_clock_wall_ms());
}

const heard_t *site_wait(site_t *site, uint32_t events)
{
    int64_t until_ms = helio_clock_boot_ms() + 10000;
    while (site->heard_count < events && helio_clock_boot_ms() < until_ms)
        turn(site, until_ms);
    if (site->heard_count < events)
        fail_msg("%u events instead of %u", site->heard_count, events);
    return &site->heard[events - 1];
}

void site_drive(site_t *site, int64_t ms)
{
    int64_t until_ms = helio_clock_boot_ms() + ms;
    do
        turn(site, until_ms);
    while (helio_clock_boot_ms() < until_ms);
}

void site_log(site_t *site, uint32_t epoch, helio_buffer_t *out)
{
    uint64_t at = 0;
    bool end = false;
    size_t before;
    helio_error_t err = {0};
    do {
        before = out->size;
        if (site->backend->class->log_read(site->backend, site_key(), epoch, at, 1000, out, &at, &end, &err))
            fail_msg("%s", err.text);
    } while (!end && out->size > before);
}

void site_wait_log(site_t *site, const char *text)
{
    int64_t until_ms = helio_clock_boot_ms() + 10000;
    for (;;) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
        site_log(site, 1, &log);
        if (log.size && strstr(log.data, text))
            return;
        if (helio_clock_boot_ms() >= until_ms)
            fail_msg("the log never said '%s' but '%s'", text, log.size ? log.data : "");
        turn(site, helio_clock_boot_ms() + 10);
    }
}

const char *site_path(const site_t *site, const char *room, uint32_t epoch, const char *file, char ret_path[512])
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(site_key(), epoch, name);
    (void)snprintf(ret_path, 512, "%s/%s/%s%s%s", site->dir, room, name, *file ? "/" : "", file);
    return ret_path;
}

bool read_whole(const char *path, helio_buffer_t *out)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char piece[4096];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        helio_buffer_append(out, piece, got);
    (void)fclose(file);
    return true;
}

long read_number(const char *path)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    return read_whole(path, &text) && text.size ? strtol(text.data, NULL, 10) : -1;
}

bool is_alive(long pid)
{
    helio_process_info_t info;
    return helio_process_inspect((pid_t)pid, &info) == HELIO_OK && info.state != 'Z';
}

long site_shim(const site_t *site, uint32_t epoch)
{
    char path[512];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_claim_t claim;
    assert_true(read_whole(site_path(site, "attempts", epoch, "claim", path), &text));
    assert_int_equal(helio_claim_parse(helio_buffer_view(&text), &claim), HELIO_OK);
    return claim.shim.pid;
}
