/*  test_scaler.c -- a scaler with a provider that takes instances away: what it says of them, and what it offers no more. */
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
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/scale/scale.h"

enum { GPUS = 8, CPUS = 64 };

static helio_scaler_t *scaler;
static helio_scale_rule_t rule;
static helio_string_t words[3];
static helio_pool_t pool;
static helio_site_profile_t site;
static char folder[64], told[200];
static uint32_t notes; /* of all kinds */

static void on_note(void *arg, const helio_scale_note_t *note)
{
    (void)arg;
    if (note->word == HELIO_SCALE_IGNORED)
        (void)strcat(told, "ignored ");
    notes++;
    if (note->word == HELIO_SCALE_TAKEN)
        (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%s ", note->text);
}

/*  The provider lists four instances, and takes b away. printf uses its format once, for both words that are added. */
static int begin(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/helio-scaler-XXXXXX");
    assert_non_null(mkdtemp(folder));
    told[0] = '\0';
    notes = 0;
    words[0].text = HELIO_TEXT("printf");
    words[1].text = HELIO_TEXT("a\\nb interrupted\\nc\\nd\\n%.0s%.0s");
    rule = (helio_scale_rule_t){.pool = HELIO_TEXT("p"),
                                .command = {words, 2},
                                .down_below = 1,
                                .down_for_ms = 3600000,
                                .max = 4,
                                .poll_ms = 200,
                                .timeout_ms = 10000,
                                .notice = helio_text_of(folder)};
    pool = (helio_pool_t){.name = HELIO_TEXT("p"),
                          .gpus_per_node = GPUS,
                          .cpus_per_node = CPUS,
                          .memory_bytes_per_node = 1000,
                          .elastic = true,
                          .max_nodes = 4};
    site = (helio_site_profile_t){.pools = {&pool, 1}};
    static helio_scale_rules_t rules;
    rules = (helio_scale_rules_t){&rule, 1};
    helio_scaler_options_t options = {.rules = &rules, .site = &site, .on_note = on_note};
    helio_error_t err;
    assert_int_equal(helio_scaler_new(&options, &scaler, &err), HELIO_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    char path[100];
    helio_scaler_destroy(&scaler);
    (void)snprintf(path, sizeof path, "%s/a", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    return 0;
}

/*  Until it has said that so many instances are taken away. */
static void turn_until(const char *text)
{
    for (int i = 0; i < 1000 && strcmp(told, text) != 0; i++) {
        struct pollfd ready = {.fd = helio_scaler_fd(scaler), .events = POLLIN};
        helio_scaler_process(scaler, helio_clock_boot_ms());
        (void)poll(&ready, 1, 20);
    }
    assert_string_equal(told, text);
}

static void notice(const char *name)
{
    char path[100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/*  a is idle, b has three GPUs free, c none, d is idle. */
static void say_nodes(void)
{
    helio_backend_node_t nodes[] = {
        {.name = HELIO_TEXT("a"), .pool = pool.name, .gpus_free = 8, .cpus_free = CPUS, .memory_free_bytes = 1000},
        {.name = HELIO_TEXT("b"),
         .pool = pool.name,
         .busy = true,
         .gpus_free = 3,
         .cpus_free = 10,
         .memory_free_bytes = 5},
        {.name = HELIO_TEXT("c"), .pool = pool.name, .busy = true},
        {.name = HELIO_TEXT("d"), .pool = pool.name, .gpus_free = 8, .cpus_free = CPUS, .memory_free_bytes = 1000},
    };
    helio_scaler_nodes(scaler, nodes, 4, helio_clock_boot_ms());
    assert_int_equal(helio_scaler_takes(scaler, &nodes[1]), strstr(told, "b ") != NULL);
    assert_int_equal(helio_scaler_takes(scaler, &nodes[0]), strstr(told, "a ") != NULL);
    assert_false(helio_scaler_takes(scaler, &nodes[3]));
}

static void assert_offers(uint32_t whole, uint32_t threes, uint32_t up, uint32_t cpus, uint64_t memory_bytes)
{
    uint32_t free_nodes[GPUS + 1] = {[0] = 1, [3] = 1, [8] = 2};
    helio_pool_capacity_t capacity = {.pool = pool.name,
                                      .nodes_up = 4,
                                      .gpus_total = 32,
                                      .gpus_allocated = 13,
                                      .free_nodes = {free_nodes, GPUS + 1},
                                      .cpus_free = 2 * CPUS + 10,
                                      .memory_free_bytes = 2005};
    helio_scaler_withhold(scaler, &capacity);
    assert_int_equal(free_nodes[8], whole);
    assert_int_equal(free_nodes[3], threes);
    assert_int_equal(capacity.nodes_up, up);
    assert_int_equal(capacity.cpus_free, cpus);
    assert_int_equal(capacity.memory_free_bytes, memory_bytes);
    assert_int_equal(capacity.gpus_total, 13 + 8 * whole + 3 * threes);
}

static void scaler__offers_nothing_of_what_the_list_says_is_taken_away(void **state)
{
    (void)state;
    say_nodes();
    assert_offers(2, 1, 4, 2 * CPUS + 10, 2005);
    turn_until("b ");
    say_nodes();
    assert_offers(2, 0, 3, 2 * CPUS, 2000);
}

static void scaler__a_file_of_the_folder_is_a_notice(void **state)
{
    (void)state;
    turn_until("b ");
    notice("a");
    turn_until("b a ");
    say_nodes();
    assert_offers(1, 0, 2, CPUS, 1000);
}

static void scaler__a_folder_that_others_can_write_into_counts_as_empty(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    notice("a");
    turn_until("ignored b ");
    say_nodes();
    assert_int_equal(chmod(folder, 0755), 0); /* it is believed again, and what is there with it */
    turn_until("ignored b a ");
    assert_int_equal(chmod(folder, 0775), 0);
    turn_until("ignored b a ignored ");
}

static void scaler__without_a_command_it_runs_nothing(void **state)
{
    (void)state;
    rule.command.count = 0;
    rule.notice = (helio_text_t){0};
    const helio_pool_demand_t demand = {HELIO_TEXT("p"), 3};
    const helio_backend_node_t nodes[] = {{.name = HELIO_TEXT("a"), .pool = HELIO_TEXT("p")}};
    const int64_t now_ms = helio_clock_boot_ms();
    helio_scaler_demand(scaler, &demand, 1, now_ms);
    for (int64_t later_ms = 0; later_ms < 60000; later_ms += 500) {
        helio_scaler_nodes(scaler, nodes, 1, now_ms + later_ms);
        helio_scaler_process(scaler, now_ms + later_ms);
    }
    assert_int_equal(notes, 0); /* a command that cannot be run is one */
    assert_false(helio_scaler_takes(scaler, &nodes[0]));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(scaler__offers_nothing_of_what_the_list_says_is_taken_away),
        CASE(scaler__a_file_of_the_folder_is_a_notice),
        CASE(scaler__a_folder_that_others_can_write_into_counts_as_empty),
        CASE(scaler__without_a_command_it_runs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
