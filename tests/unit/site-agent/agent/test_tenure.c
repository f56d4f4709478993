/*  What a process of the agent can prove of the one before it: restarts, crashes, copies of the state directory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "site-agent/agent/tenure.h"
#include "tests/support/folder.h"

static char directory[64], copy[80];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/helio-tenure-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    (void)snprintf(copy, sizeof copy, "%s-copy", directory);
    return mkdir(copy, 0700);
}

static int end(void **state)
{
    (void)state;
    return folder_remove(directory) | folder_remove(copy);
}

static helio_tenure_t begin_in(const char *path)
{
    helio_tenure_t tenure;
    helio_error_t err = {0};
    if (helio_tenure_begin(path, 1795, &tenure, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return tenure;
}

static helio_tenure_t admitted_in(const char *path)
{
    helio_tenure_t tenure = begin_in(path);
    helio_tenure_admitted(&tenure);
    return tenure;
}

/*  The process dies, and says nothing. */
static void crash(helio_tenure_t *tenure)
{
    assert_int_equal(close(tenure->fd), 0);
}

static size_t read_lock(const char *path, char ret_bytes[1024])
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s/lock", path);
    int fd = open(name, O_RDONLY);
    ssize_t size = read(fd, ret_bytes, 1023);
    assert_true(fd >= 0 && size >= 0 && close(fd) == 0);
    ret_bytes[size] = '\0';
    return (size_t)size;
}

/*  In place: the file keeps its inode. */
static void write_lock(const char *path, const char *bytes, size_t size)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s/lock", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

static void copy_lock(const char *from, const char *to)
{
    char bytes[1024];
    size_t size = read_lock(from, bytes);
    write_lock(to, bytes, size);
}

/*  As if the machine had booted since, or were a clone of it: the file is the same, and the boot is another. */
static void boot_anew(const char *path)
{
    char bytes[1024];
    (void)read_lock(path, bytes);
    char *place = strstr(bytes, "\nplace="), *sum = strstr(bytes, "sum=");
    assert_true(place && sum);
    place[7] = place[7] == 'a' ? 'b' : 'a';
    (void)snprintf(sum, 32, "sum=%016llx\n",
                   (unsigned long long)helio_hash(HELIO_HASH_SEED, bytes, (size_t)(sum - bytes)));
    write_lock(path, bytes, strlen(bytes));
}

static bool proves(const helio_tenure_t *tenure, const helio_tenure_t *former)
{
    return helio_uuid_equal(tenure->former, former->process);
}

static bool proves_nothing(const helio_tenure_t *tenure)
{
    return helio_uuid_is_nil(tenure->former);
}

static void tenure__of_the_first_process_proves_nothing(void **state)
{
    (void)state;
    helio_tenure_t first = begin_in(directory);
    assert_true(proves_nothing(&first));
    assert_false(helio_uuid_is_nil(first.process));
    helio_tenure_end(&first);
}

static void tenure__after_a_crash_or_an_end_proves_the_end_of_the_former_process(void **state)
{
    (void)state;
    helio_tenure_t first = admitted_in(directory);
    crash(&first);
    helio_tenure_t second = admitted_in(directory);
    assert_true(proves(&second, &first));
    assert_false(helio_uuid_equal(second.process, first.process));
    helio_tenure_end(&second);
    helio_tenure_t third = begin_in(directory);
    assert_true(proves(&third, &second));
    helio_tenure_end(&third);
}

/*  Brokers ask about the process that was in session, however many came and went while none was to be reached. */
static void tenure__hands_on_the_last_process_in_session(void **state)
{
    (void)state;
    helio_tenure_t first = admitted_in(directory), next = {.fd = -1};
    crash(&first);
    for (int i = 0; i < 5; i++) {
        next = begin_in(directory);
        assert_true(proves(&next, &first));
        if (i & 1)
            crash(&next);
        else
            helio_tenure_end(&next);
    }
    helio_tenure_t last = admitted_in(directory);
    assert_true(proves(&last, &first));
    crash(&last);
    next = begin_in(directory);
    assert_true(proves(&next, &last));
    crash(&next);
}

static void tenure__has_no_second_holder(void **state)
{
    (void)state;
    helio_tenure_t first = admitted_in(directory), second;
    helio_error_t err = {0};
    char before[1024], after[1024];
    size_t size = read_lock(directory, before);
    assert_int_equal(helio_tenure_begin(directory, 1795, &second, &err), HELIO_CONFLICT);
    assert_int_equal(read_lock(directory, after), size); /* and nothing was written */
    assert_memory_equal(before, after, size);
    crash(&first);
}

/*  A copy on the same machine: its lock is another file, and the original's holder lives. */
static void tenure__of_a_copy_proves_nothing_of_a_process_that_may_live(void **state)
{
    (void)state;
    helio_tenure_t first = admitted_in(directory);
    copy_lock(directory, copy);
    helio_tenure_t clone = begin_in(copy);
    assert_true(proves_nothing(&clone));
    crash(&clone);
    clone = begin_in(copy); /* a copy that restarts has proved nothing before either */
    assert_true(proves_nothing(&clone));
    crash(&clone);
    crash(&first);
}

/*  After a loss of power, or in a clone of the whole machine, which cannot be told apart. */
static void tenure__of_another_boot_proves_nothing_unless_the_former_process_said_that_it_ended(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        helio_tenure_t first = admitted_in(directory);
        if (ended)
            helio_tenure_end(&first);
        else
            crash(&first);
        boot_anew(directory);
        helio_tenure_t next = begin_in(directory);
        assert_int_equal(proves(&next, &first), ended);
        assert_int_equal(proves_nothing(&next), !ended);
        crash(&next);
    }
}

/*  A copy of a directory whose agent had ended proves what is true. Its original goes on, and it does not prove the
 *  end of the process that the broker knows since then. */
static void tenure__of_a_copy_proves_no_end_of_what_the_original_began_later(void **state)
{
    (void)state;
    helio_tenure_t first = admitted_in(directory);
    helio_tenure_end(&first);
    copy_lock(directory, copy);
    helio_tenure_t next = admitted_in(directory), clone = begin_in(copy);
    assert_true(proves(&next, &first));
    assert_true(proves(&clone, &first) && !proves(&clone, &next));
    crash(&clone);
    copy_lock(directory, copy); /* once more, while it runs */
    clone = begin_in(copy);
    assert_true(proves_nothing(&clone));
    crash(&clone);
    crash(&next);
}

/*  An older lock file was put back in place: it names a process that no broker asks about any more. */
static void tenure__by_an_older_lock_file_proves_an_older_end(void **state)
{
    (void)state;
    char bytes[1024];
    helio_tenure_t first = admitted_in(directory);
    size_t size = read_lock(directory, bytes);
    crash(&first);
    helio_tenure_t second = admitted_in(directory);
    crash(&second);
    write_lock(directory, bytes, size);
    helio_tenure_t third = begin_in(directory);
    assert_true(proves(&third, &first) && !proves(&third, &second));
    crash(&third);
}

static void tenure__by_a_file_that_is_damaged_anywhere_proves_nothing(void **state)
{
    (void)state;
    char bytes[1024], bad[1024];
    helio_tenure_t first = admitted_in(directory);
    helio_tenure_end(&first);
    size_t size = read_lock(directory, bytes);
    assert_true(size > 100);
    for (size_t i = 0; i < 2 * size - 1; i++) { /* each byte changed, then the file cut at each */
        memcpy(bad, bytes, size);
        bad[i % size] ^= 1;
        if (i < size)
            write_lock(directory, bad, size);
        else
            write_lock(directory, bytes, i - size);
        helio_tenure_t next = begin_in(directory);
        if (!proves_nothing(&next))
            fail_msg("damage %zu of %zu was believed", i, size);
        crash(&next);
    }
}

int main(void)
{
#define TENURE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TENURE(tenure__of_the_first_process_proves_nothing),
        TENURE(tenure__after_a_crash_or_an_end_proves_the_end_of_the_former_process),
        TENURE(tenure__hands_on_the_last_process_in_session),
        TENURE(tenure__has_no_second_holder),
        TENURE(tenure__of_a_copy_proves_nothing_of_a_process_that_may_live),
        TENURE(tenure__of_another_boot_proves_nothing_unless_the_former_process_said_that_it_ended),
        TENURE(tenure__of_a_copy_proves_no_end_of_what_the_original_began_later),
        TENURE(tenure__by_an_older_lock_file_proves_an_older_end),
        TENURE(tenure__by_a_file_that_is_damaged_anywhere_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
