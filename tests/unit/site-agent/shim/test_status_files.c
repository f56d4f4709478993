/*  test_status_files.c -- the files of an attempt's folder: whole or not at all, and whatever a job's user
 * puts in their place is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/rng.h"
#include "site-agent/shim/plan.h"
#include "federation/reason/codes.h"
#include "site-agent/shim/status_files.h"
#include "tests/support/folder.h"

typedef struct place {
    char path[40];
    int folder;
} place_t;

static int begin(void **state)
{
    place_t *self = helio_new(1, sizeof *self);
    (void)snprintf(self->path, sizeof self->path, "/tmp/helio-status-XXXXXX");
    assert_non_null(mkdtemp(self->path));
    self->folder = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(self->folder >= 0);
    *state = self;
    return 0;
}

static int end(void **state)
{
    place_t *self = *state;
    (void)close(self->folder);
    (void)folder_remove(self->path);
    free(self);
    return 0;
}

static void assert_holds(const place_t *self, const char *name, const char *expected)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    assert_int_equal(helio_status_file_read(self->folder, name, HELIO_STATUS_FILE_MAX, &bytes, NULL), HELIO_OK);
    assert_true(helio_text_is(helio_buffer_view(&bytes), expected));
}

/*  How many names the folder has: what was left behind shows. */
static int names_in(const place_t *self)
{
    char command[80], line[16] = "";
    (void)snprintf(command, sizeof command, "ls -A %s | wc -l", self->path);
    FILE *listing = popen(command, "re");
    assert_non_null(listing);
    assert_non_null(fgets(line, sizeof line, listing));
    (void)pclose(listing);
    return atoi(line);
}

/* ---- files ----------------------------------------------------------------------------------------------
 */

static void write__replaces_a_file_and_leaves_nothing_beside_it(void **state)
{
    place_t *self = *state;
    struct stat status;
    assert_int_equal(helio_status_file_write(self->folder, "stop", HELIO_TEXT("grace"), 0640, NULL), HELIO_OK);
    assert_int_equal(helio_status_file_put(self->folder, "stop", HELIO_TEXT("signal"), 0640, NULL), HELIO_OK);
    assert_int_equal(helio_status_file_write(self->folder, "stop", HELIO_TEXT("kill"), 0600, NULL), HELIO_OK);
    assert_holds(self, "stop", "kill");
    assert_int_equal(fstatat(self->folder, "stop", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(names_in(self), 1);
}

/*  A limit on the size of files stands for the disk that is full: the bytes do not fit. */
static void write__that_does_not_fit_leaves_the_former_file(void **state)
{
    place_t *self = *state;
    struct rlimit kept, least;
    char *large = helio_new(5000, 1);
    memset(large, 'x', 5000);
    assert_int_equal(helio_status_file_write(self->folder, "plan", HELIO_TEXT("former"), 0600, NULL), HELIO_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    least = (struct rlimit){.rlim_cur = 100, .rlim_max = kept.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    helio_rc wrote = helio_status_file_write(self->folder, "plan", (helio_text_t){large, 5000}, 0600, NULL);
    helio_rc claimed = helio_status_file_claim(self->folder, "claim", (helio_text_t){large, 5000}, NULL);
    helio_rc reserved = helio_done_reserve(self->folder, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
    assert_int_equal(wrote, HELIO_IO);
    assert_int_equal(claimed, HELIO_IO);
    assert_int_equal(reserved, HELIO_IO);
    assert_holds(self, "plan", "former");
    assert_false(helio_status_file_exists(self->folder, "claim"));
    free(large);
}

static void files__in_a_removed_folder_fail(void **state)
{
    place_t *self = *state;
    const helio_done_t done = {.exit_code = 0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    assert_int_equal(rmdir(self->path), 0);
    assert_int_equal(helio_status_file_write(self->folder, "a", HELIO_TEXT("x"), 0600, NULL), HELIO_IO);
    assert_int_equal(helio_status_file_claim(self->folder, "a", HELIO_TEXT("x"), NULL), HELIO_IO);
    assert_int_equal(helio_status_file_read(self->folder, "a", 10, &bytes, NULL), HELIO_NOT_FOUND);
    assert_int_equal(helio_done_reserve(self->folder, NULL), HELIO_IO);
    assert_int_equal(helio_done_write(self->folder, &done, NULL), HELIO_IO);
}

static void claim__belongs_to_the_first_writer(void **state)
{
    place_t *self = *state;
    assert_int_equal(helio_status_file_claim(self->folder, "claim", HELIO_TEXT("first"), NULL), HELIO_OK);
    assert_int_equal(helio_status_file_claim(self->folder, "claim", HELIO_TEXT("second"), NULL), HELIO_CONFLICT);
    assert_holds(self, "claim", "first");
    assert_int_equal(names_in(self), 1);
}

static void read__accepts_only_regular_files_up_to_the_bound(void **state)
{
    place_t *self = *state;
    char target[80];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    assert_int_equal(helio_status_file_write(self->folder, "done", HELIO_TEXT("12345678"), 0600, NULL), HELIO_OK);
    assert_int_equal(helio_status_file_read(self->folder, "done", 8, &bytes, NULL), HELIO_OK);
    assert_int_equal(bytes.size, 8);
    assert_int_equal(helio_status_file_read(self->folder, "done", 7, &bytes, NULL), HELIO_TOO_BIG);
    assert_int_equal(helio_status_file_read(self->folder, "none", 7, &bytes, NULL), HELIO_NOT_FOUND);
    (void)snprintf(target, sizeof target, "%s/done", self->path);
    assert_int_equal(symlinkat(target, self->folder, "link"), 0);
    assert_int_equal(helio_status_file_read(self->folder, "link", 99, &bytes, NULL), HELIO_IO);
    assert_true(helio_status_file_exists(self->folder, "link"));
    assert_int_equal(mkfifoat(self->folder, "pipe", 0600), 0);
    assert_int_equal(helio_status_file_read(self->folder, "pipe", 99, &bytes, NULL),
                     HELIO_INVALID); /* and does not wait */
    assert_int_equal(mkdirat(self->folder, "room", 0700), 0);
    assert_int_equal(helio_status_file_read(self->folder, "room", 99, &bytes, NULL), HELIO_INVALID);
}

/*  A job of the shim's own user can put anything in its place. */
static void done__is_never_written_into_a_pipe_or_through_a_link(void **state)
{
    place_t *self = *state;
    const helio_done_t done = {0};
    assert_int_equal(mkfifoat(self->folder, "reserve", 0600), 0);
    assert_int_equal(helio_done_reserve(self->folder, NULL), HELIO_IO); /* and does not wait */
    assert_int_equal(helio_done_write(self->folder, &done, NULL), HELIO_IO);
    assert_int_equal(unlinkat(self->folder, "reserve", 0), 0);
    assert_int_equal(symlinkat("elsewhere", self->folder, "reserve"), 0);
    assert_int_equal(helio_done_reserve(self->folder, NULL), HELIO_IO);
    assert_int_equal(helio_done_write(self->folder, &done, NULL), HELIO_IO);
    assert_false(helio_status_file_exists(self->folder, "elsewhere"));
}

/* ---- numbers ----------------------------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    int64_t least, most, value;
    bool good;
} numbers[] = {
    {"0", 0, 0, 0, true},
    {"-0", 0, 0, 0, true},
    {"9223372036854775807", INT64_MIN + 1, INT64_MAX, INT64_MAX, true},
    {"-9223372036854775807", INT64_MIN + 1, INT64_MAX, INT64_MIN + 1, true},
    {"9223372036854775808", INT64_MIN + 1, INT64_MAX, 0, false},
    {"9999999999999999999", INT64_MIN + 1, INT64_MAX, 0, false},
    {"99999999999999999999", INT64_MIN + 1, INT64_MAX, 0, false},
    {"18446744073709551617", INT64_MIN + 1, INT64_MAX, 0, false}, /* 1, had it gone around */
    {"5", 5, 5, 5, true},
    {"4", 5, 9, 0, false},
    {"10", 5, 9, 0, false},
    {"-1", 0, 9, 0, false},
    {"", -9, 9, 0, false},
    {"-", -9, 9, 0, false},
    {"+1", -9, 9, 0, false},
    {"--1", -9, 9, 0, false},
    {" 1", -9, 9, 0, false},
    {"1 ", -9, 9, 0, false},
    {"0x1", -9, 9, 0, false},
    {"1e3", 0, 9999, 0, false},
    {"1.0", 0, 9999, 0, false},
};

static void number__is_decimal_and_within_its_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t value = 77;
        bool good = helio_status_file_number(helio_text_of(numbers[i].text), numbers[i].least, numbers[i].most, &value);
        if (good != numbers[i].good || value != (good ? numbers[i].value : 77))
            fail_msg("'%s': %d, %lld", numbers[i].text, good, (long long)value);
    }
}

/* ---- done ---------------------------------------------------------------------------------------------- */

static helio_done_t random_done(helio_rng_t *rng)
{
    helio_done_t done = {.failed = helio_rng_below(rng, 2),
                         .exit_code = (int32_t)helio_rng_below(rng, 256),
                         .limit_reached = helio_rng_below(rng, 2),
                         .stopped = helio_rng_below(rng, 2),
                         .started_wall_ms = (int64_t)(helio_rng_next(rng) >> 1),
                         .ended_wall_ms = -(int64_t)(helio_rng_next(rng) >> 1),
                         .run_ms = helio_rng_next(rng) >> 1,
                         .max_rss_kib = helio_rng_next(rng) >> 1,
                         .log_dropped_bytes = helio_rng_next(rng) >> 1};
    uint64_t size = helio_rng_below(rng, sizeof done.explanation);
    for (uint64_t i = 0; i < size; i++)
        done.explanation[i] = (char)(' ' + helio_rng_below(rng, '~' - ' ' + 1)); /* '=' too */
    return done;
}

static void assert_same_end(const helio_done_t *a, const helio_done_t *b)
{
    assert_true(a->failed == b->failed && a->limit_reached == b->limit_reached && a->stopped == b->stopped);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_true(a->started_wall_ms == b->started_wall_ms && a->ended_wall_ms == b->ended_wall_ms);
    assert_true(a->run_ms == b->run_ms && a->max_rss_kib == b->max_rss_kib);
    assert_true(a->log_dropped_bytes == b->log_dropped_bytes);
    assert_int_equal(a->cause, b->cause);
    assert_string_equal(a->explanation, b->explanation);
}

static void done__round_trips_and_a_part_of_it_is_refused(void **state)
{
    (void)state;
    helio_rng_t rng = {11};
    for (int n = 0; n < 300; n++) {
        helio_done_t done = random_done(&rng), back = {0};
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_done_text(&done, &text);
        assert_int_equal(helio_done_parse(helio_buffer_view(&text), &back), HELIO_OK);
        assert_same_end(&back, &done);
        for (uint32_t cut = 0; cut + 1 < text.size; cut++) { /* the last break of a line may be missing */
            back.exit_code = 999;
            assert_int_equal(helio_done_parse((helio_text_t){text.data, cut}, &back), HELIO_INVALID);
            assert_int_equal(back.exit_code, 999);
        }
    }
}

static void done__is_one_line_whatever_its_reason(void **state)
{
    (void)state;
    helio_done_t done = {.exit_code = 9,
                         .cause = HELIO_CAUSE_START_FAILED,
                         .explanation = "a\nexit_code=0\nend=1\nfailed=0"},
                 back = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_done_text(&done, &text);
    assert_int_equal(helio_done_parse(helio_buffer_view(&text), &back), HELIO_OK);
    assert_int_equal(back.exit_code, 9);
    assert_int_equal(back.cause, HELIO_CAUSE_START_FAILED);
    assert_string_equal(back.explanation, "a exit_code=0 end=1 failed=0");
}

static void done__with_a_malformed_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "exit_code=0x1\nend=1\n",
        "exit_code=\nend=1\n",
        "exit_code\nend=1\n",
        "run_ms=1e3\nend=1\n",
        "end=\n",
        "end\n",
        "end=yes\n",
        "= \nend=1\n",
        "exit_code=0\n",
        "",
    };
    helio_done_t done;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (helio_done_parse(helio_text_of(texts[i]), &done) != HELIO_INVALID)
            fail_msg("case %zu", i);
    assert_int_equal(helio_done_parse(HELIO_TEXT("exit_code=0\nrun_ms=-5\nmax_rss_kib=-1\nlater=7\nend=1\n"), &done),
                     HELIO_OK);
    assert_true(done.run_ms == 0 && done.max_rss_kib == 0); /* never a huge figure; keys of other releases pass */
}

static void done__without_an_exit_code_of_0_to_255_proves_no_end(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "end=1\n",
        "failed=0\nrun_ms=1000\nend=1\n",
        "exit_code=256\nend=1\n",
        "exit_code=-1\nend=1\n",
        "exit_code=4294967296\nend=1\n",
        "exit_code=0\nexit_code=256\nend=1\n",
    };
    helio_done_t done = {.exit_code = 999};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (helio_done_parse(helio_text_of(texts[i]), &done) != HELIO_INVALID || done.exit_code != 999)
            fail_msg("case %zu", i);
    assert_int_equal(helio_done_parse(HELIO_TEXT("exit_code=255\nend=1\n"), &done), HELIO_OK);
    assert_int_equal(done.exit_code, 255);
}

static void done__uses_its_reserved_space(void **state)
{
    place_t *self = *state;
    struct stat status;
    const helio_done_t done = {.exit_code = 3, .explanation = "over"};
    helio_done_t back = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    assert_int_equal(helio_done_reserve(self->folder, NULL), HELIO_OK);
    assert_int_equal(fstatat(self->folder, "reserve", &status, 0), 0);
    assert_int_equal(status.st_size, HELIO_STATUS_FILE_RESERVE);
    assert_true(status.st_blocks > 0); /* space, not a hole */
    assert_int_equal(helio_done_write(self->folder, &done, NULL), HELIO_OK);
    assert_false(helio_status_file_exists(self->folder, "reserve"));
    assert_int_equal(helio_status_file_read(self->folder, "done", HELIO_STATUS_FILE_MAX, &text, NULL), HELIO_OK);
    assert_int_equal(helio_done_parse(helio_buffer_view(&text), &back), HELIO_OK);
    assert_same_end(&back, &done); /* nothing of the reserve behind it */
}

/* ---- started ------------------------------------------------------------------------------------------- */

static void started__round_trips_with_every_rank(void **state)
{
    (void)state;
    helio_started_t *started = helio_new(1, sizeof *started), *back = helio_new(1, sizeof *back);
    started->wall_ms = 1795000000000;
    started->boot_ms = 12345;
    started->rank_count = HELIO_PLAN_RANKS_MAX;
    for (uint32_t i = 0; i < started->rank_count; i++)
        started->ranks[i] = (helio_process_t){(pid_t)(100 + i), 5000 + i};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_started_text(started, &text);
    assert_int_equal(helio_started_parse(helio_buffer_view(&text), back), HELIO_OK);
    assert_true(back->wall_ms == started->wall_ms && back->boot_ms == started->boot_ms);
    assert_int_equal(back->rank_count, HELIO_PLAN_RANKS_MAX);
    for (uint32_t i = 0; i < back->rank_count; i++)
        assert_true(back->ranks[i].pid == started->ranks[i].pid &&
                    back->ranks[i].start_ticks == started->ranks[i].start_ticks);
    helio_buffer_text(&text, "rank=7\nticks=8\n"); /* one more than there can be */
    assert_int_equal(helio_started_parse(helio_buffer_view(&text), back), HELIO_INVALID);
    free(started);
    free(back);
}

static void started__without_a_process_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "wall_ms=1\nboot_ms=2\n",
        "rank=7\n", /* a process id alone may be another's by now */
        "ticks=8\n",
        "ticks=8\nrank=7\n",
        "rank=7\nticks=8\nrank=9\n",
        "rank=7\nrank=9\nticks=8\nticks=8\n",
        "rank=7\nticks=8\nticks=8\n",
        "rank=-7\nticks=8\n",
        "rank=2147483648\nticks=8\n",
        "rank=x\nticks=8\n",
        "rank=7\nticks=8\nother=1\n",
    };
    helio_started_t *started = helio_new(1, sizeof *started);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (helio_started_parse(helio_text_of(texts[i]), started) != HELIO_INVALID)
            fail_msg("case %zu", i);
    assert_int_equal(helio_started_parse(HELIO_TEXT("rank=7\nticks=8\n"), started), HELIO_OK);
    free(started);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(write__replaces_a_file_and_leaves_nothing_beside_it),
        IN_FOLDER(write__that_does_not_fit_leaves_the_former_file),
        IN_FOLDER(files__in_a_removed_folder_fail),
        IN_FOLDER(claim__belongs_to_the_first_writer),
        IN_FOLDER(read__accepts_only_regular_files_up_to_the_bound),
        IN_FOLDER(done__is_never_written_into_a_pipe_or_through_a_link),
        cmocka_unit_test(number__is_decimal_and_within_its_bounds),
        cmocka_unit_test(done__round_trips_and_a_part_of_it_is_refused),
        cmocka_unit_test(done__is_one_line_whatever_its_reason),
        cmocka_unit_test(done__with_a_malformed_number_is_refused),
        cmocka_unit_test(done__without_an_exit_code_of_0_to_255_proves_no_end),
        IN_FOLDER(done__uses_its_reserved_space),
        cmocka_unit_test(started__round_trips_with_every_rank),
        cmocka_unit_test(started__without_a_process_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
