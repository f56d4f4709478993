/*  test_account_file.c -- the energy account on disk: cut, flipped, of another site file, on a full disk. */
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/site-agent/telemetry/energy_account_testing.h"

enum { HOURS = 5 };
static const int64_t END = BEGIN + HOURS * H;

/*  Five hours of two pools, saved; what they tell. */
static double saved(fixture_t *self)
{
    self->site.pools.count = 2;
    (void)unlink(self->path);
    open_energy_account(self, false, BEGIN);
    for (int64_t h = 1; h <= HOURS; h++) {
        helio_energy_account_use(self->energy_account, 0, 2, 0, 1);
        helio_energy_account_use(self->energy_account, 1, 32, 8, (uint32_t)h);
        helio_energy_account_tick(self->energy_account, BEGIN + h * H);
    }
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
    return joules(self, "b", "foreign", END - H, END);
}

static char *bytes_of(const char *path, size_t *ret_size)
{
    static char bytes[1 << 17];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    *ret_size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    assert_true(*ret_size < sizeof bytes);
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static bool is_remembered(fixture_t *self)
{
    open_energy_account(self, false, END);
    return joules(self, "b", "foreign", END - H, END) >= 0;
}

static void account__of_a_file_that_was_cut_anywhere_begins_again(void **state)
{
    fixture_t *self = *state;
    size_t size;
    (void)saved(self);
    const char *bytes = bytes_of(self->path, &size);
    assert_true(is_remembered(self));
    for (size_t cut = 0; cut < size; cut += 131) {
        write_bytes(self->path, bytes, cut);
        if (is_remembered(self))
            fail_msg("%zu of %zu bytes were believed", cut, size);
    }
}

static void account__of_a_file_with_a_flipped_bit_begins_again(void **state)
{
    fixture_t *self = *state;
    size_t size;
    (void)saved(self);
    char *bytes = bytes_of(self->path, &size);
    for (size_t at = 0; at < size; at += at < 200 ? 1 : 127) {
        char kept = bytes[at];
        bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        write_bytes(self->path, bytes, size);
        if (is_remembered(self))
            fail_msg("a flipped bit of byte %zu was believed", at);
        bytes[at] = kept;
    }
    write_bytes(self->path, bytes, size);
    assert_true(is_remembered(self));
}

/*  Pools are found by their names; one that is new has no past, one that is gone has none either. */
static void account__finds_its_pools_again_after_the_site_file_was_changed(void **state)
{
    fixture_t *self = *state;
    double told = saved(self);
    const helio_pool_t a = self->pools[0], b = self->pools[1];
    self->pools[0] = b;
    self->pools[1] = a;
    open_energy_account(self, false, END);
    assert_true(near(joules(self, "b", "foreign", END - H, END), told));
    assert_true(near(joules(self, "a", "foreign", END - H, END), 300 * 3600));
    self->pools[1].name = HELIO_TEXT("c");
    open_energy_account(self, false, END);
    assert_true(near(joules(self, "b", "foreign", END - H, END), told));
    assert_true(joules(self, "c", "foreign", END - H, END) <= 0);
    self->site.pools.count = 1;
    open_energy_account(self, false, END);
    assert_true(near(joules(self, "b", "foreign", END - H, END), told));
}

/*  After a GPU was added the numbers may mean other GPUs: nobody is charged by them. */
static void account__of_another_count_of_gpus_knows_no_holder(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_take(self->energy_account, "helio-x-1", (uint32_t[]){1}, 1, BEGIN);
    self->pools[0].gpus_per_node = 1;
    open_energy_account(self, true, BEGIN + 1000);
    counters(self, 2000, 0, 9000);
    assert_int_equal(helio_energy_account_give(self->energy_account, "helio-x-1", true, BEGIN + 2000, BEGIN + 2000), 0);
    self->pools[0].gpus_per_node = 2;
}

/*  The former file stays whole, and the next agent goes on from it. */
static void account__on_a_full_disk_says_so_and_keeps_the_former_file(void **state)
{
    fixture_t *self = *state;
    double told = saved(self);
    size_t size;
    helio_error_t err = {0};
    struct rlimit before, full = {4096, 0};
    (void)bytes_of(self->path, &size);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    full.rlim_max = before.rlim_max;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    helio_energy_account_tick(self->energy_account, END + H);
    helio_rc rc = helio_energy_account_save(self->energy_account, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, HELIO_IO);
    assert_non_null(strstr(err.text, self->folder));
    size_t after;
    (void)bytes_of(self->path, &after);
    assert_int_equal(after, size);
    open_energy_account(self, false, END);
    assert_true(near(joules(self, "b", "foreign", END - H, END), told));
    helio_energy_account_tick(self->energy_account, END + H);
    assert_int_equal(helio_energy_account_save(self->energy_account, &err), HELIO_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    static const struct CMUnitTest tests[] = {
        TEST(account__of_a_file_that_was_cut_anywhere_begins_again),
        TEST(account__of_a_file_with_a_flipped_bit_begins_again),
        TEST(account__finds_its_pools_again_after_the_site_file_was_changed),
        TEST(account__of_another_count_of_gpus_knows_no_holder),
        TEST(account__on_a_full_disk_says_so_and_keeps_the_former_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
