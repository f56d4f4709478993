/*  test_limits.c -- QOS, associations and whether their limits are enforced, as Slurm 22.05 writes them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "site-agent/backends/slurm/listing/listing.h"

#define TRES(cpu, gpu) "cpu=" cpu ",mem=N(0),energy=N(0),node=N(1),billing=N(2),gres/gpu=" gpu
#define ASSOC(account, user, parent, standard, jobs, max_jobs, tres)                                         \
    "ClusterName=eu Account=" account " UserName=" user                                                      \
    " Partition= Priority=0 ID=4 UsageRaw/Norm/Efctv=0.00/1.00/0.00 "                                        \
    "ParentAccount=" parent " Lft=5 DefAssoc=" standard " GrpJobs=" jobs " GrpJobsAccrue=N(0) GrpTRES=" tres \
    " GrpTRESMins=" TRES("1(1)", "1(1)") " MaxJobs=" max_jobs " MaxJobsAccrue= MaxWallPJ=60 MaxTRESPJ=gres/gpu=2 \n"

static const char text[] = "Current Association Manager state\n\nAssociation Records\n\n" ASSOC(
    "root", "", "", "No", "N(2)", "", TRES("N(2)", "N(4)")) ASSOC("lab", "", "root(1)", "No", "9(2)", "7(2)",
                                                                  TRES("10(2)", "5(4)"))
    ASSOC("lab", "nobody(65534)", "", "Yes", "N(2)", "7(2)", TRES("N(2)", "3(5)")) "\nQOS Records\n\nQOS=normal(1) UsageRaw=0.000000 GrpJobs=N(0) GrpTRES=" TRES(
        "N(0)",
        "N(0)") " MaxWallPJ= MaxTRESPJ= Account Limits=No Accounts User Limits=No Users\n"
                "QOS=short(2) UsageRaw=0.000000 GrpJobs=20(1) GrpTRES=" TRES("N(1)", "6(2)") " MaxWallPJ=10 MaxTRESPJ= Priority=0 Account Limits= lab={MaxJobsPA=N(1) MaxTRESPA=" TRES(
                    "N(1)",
                    "N(2)") "} User Limits= 1000={MaxJobsPU=4(4) MaxTRESPU=" TRES("N(1)",
                                                                                  "9(0)") "} 65534={MaxJobsPU=4(1) MaxJobsAccruePU=N(0) MaxTRESPU=" TRES("8(1)",
                                                                                                                                                         "3(2)") "}\n";

#define NO HELIO_SLURM_NO_LIMIT

static void expect(helio_slurm_room_t room, uint32_t gpus, uint32_t cpus, uint32_t jobs)
{
    assert_int_equal(room.gpus, gpus);
    assert_int_equal(room.cpus, cpus);
    assert_int_equal(room.jobs, jobs);
}

static void limits__of_accounts_and_users_are_read_with_what_they_leave(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_slurm_associations_t all;
    assert_int_equal(helio_slurm_read_associations(helio_text_of(text), arena, &all, NULL), HELIO_OK);
    assert_int_equal(all.count, 3);
    expect(all.items[0].left, NO, NO, NO);
    expect(all.items[1].left, 1, 8, 7); /* MaxJobs of an account is that of each of its users */
    assert_true(helio_text_is(all.items[1].parent, "root") && !all.items[1].user.size && !all.items[1].is_default);
    expect(all.items[2].left, 0, NO, 5);
    assert_true(helio_text_is(all.items[2].user, "nobody") && all.items[2].is_default);
    assert_int_equal(all.items[2].uid, 65534);
    static const char *const bad[] = {"", "slurm_load_assoc_mgr_info error: Access denied",
                                      "Current Association Manager state\nClusterName=eu Account= UserName= \n",
                                      "Current Association Manager state\nClusterName=eu Account=lab UserName=x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(helio_slurm_read_associations(helio_text_of(bad[i]), arena, &all, NULL), HELIO_INVALID);
    helio_arena_destroy(&arena);
}

static void limits__of_qos_are_read_with_those_of_each_user(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_slurm_all_qos_t all;
    assert_int_equal(helio_slurm_read_qos(helio_text_of(text), arena, &all, NULL), HELIO_OK);
    assert_int_equal(all.count, 2);
    expect(all.items[0].left, NO, NO, NO);
    expect(helio_slurm_room_of_user(&all.items[0], 65534), NO, NO, NO);
    expect(all.items[1].left, 4, NO, 19);
    expect(helio_slurm_room_of_user(&all.items[1], 65534), 1, 7, 3);
    expect(helio_slurm_room_of_user(&all.items[1], 1000), 9, NO, 0);
    expect(helio_slurm_room_of_user(&all.items[1], 7), NO, NO, NO);
    assert_true(all.items[1].max_time_ms == 600000);
    helio_arena_destroy(&arena);
}

static void limits__count_only_where_slurm_enforces_them(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool enforced;
    } rows[] = {
        {"associations,limits,qos", true}, {"safe", true}, {"none", false}, {"associations", false}, {"", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t config = {0};
        helio_buffer_printf(&config,
                            "Configuration data\nAccountingStorageBackupHost = (null)\n"
                            "AccountingStorageEnforce = %s\nAccountingStorageHost   = limits\n",
                            rows[i].value);
        assert_int_equal(helio_slurm_read_enforced(helio_buffer_view(&config)), rows[i].enforced);
    }
    assert_false(helio_slurm_read_enforced(HELIO_TEXT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__of_accounts_and_users_are_read_with_what_they_leave),
        cmocka_unit_test(limits__of_qos_are_read_with_those_of_each_user),
        cmocka_unit_test(limits__count_only_where_slurm_enforces_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
