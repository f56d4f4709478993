#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/net/curve.h"

static char folder[] = "/tmp/helio-curve-XXXXXX";

static const char *path_of(const char *name, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", folder, name);
    return ret_path;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"key", "open", "bad", "target"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(path_of(names[i], path));
    return rmdir(folder);
}

static void curve__a_saved_key_is_loaded_with_its_public_half_and_is_private(void **state)
{
    (void)state;
    char path[128];
    helio_keypair_t pair, back;
    struct stat info;
    path_of("key", path);
    mode_t mask = umask(0); /* the file's mode does not hang on it */
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&pair, path, NULL), HELIO_OK);
    (void)umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(helio_keypair_load(path, &back, NULL), HELIO_OK);
    assert_string_equal(back.secret_key, pair.secret_key);
    assert_string_equal(back.public_key, pair.public_key);
    helio_keypair_wipe(&pair);
    for (size_t i = 0; i < sizeof pair; i++)
        assert_int_equal(((const char *)&pair)[i], 0);
}

static void curve__no_public_key_looks_like_an_option(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        helio_keypair_t pair, same;
        assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
        assert_true(isalnum((unsigned char)pair.public_key[0]));
        assert_int_equal(helio_keypair_of(pair.secret_key, &same, NULL), HELIO_OK);
        assert_string_equal(same.public_key, pair.public_key);
    }
}

static void curve__a_key_file_is_never_overwritten(void **state)
{
    (void)state;
    char path[128];
    helio_keypair_t first, second, kept;
    helio_error_t err = {0};
    path_of("target", path);
    assert_int_equal(helio_keypair_new(&first, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_new(&second, NULL), HELIO_OK);
    assert_string_not_equal(first.secret_key, second.secret_key);
    assert_int_equal(helio_keypair_save(&first, path, NULL), HELIO_OK);
    assert_int_equal(helio_keypair_save(&second, path, &err), HELIO_CONFLICT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(helio_keypair_load(path, &kept, NULL), HELIO_OK);
    assert_string_equal(kept.secret_key, first.secret_key);
}

static void curve__a_key_that_others_can_read_is_refused_with_the_remedy(void **state)
{
    (void)state;
    static const mode_t modes[] = {0644, 0640, 0604, 0620, 0601};
    char path[128];
    helio_keypair_t pair, back;
    path_of("open", path);
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        helio_error_t err = {0};
        write_file(path, pair.secret_key, modes[i]);
        assert_int_equal(helio_keypair_load(path, &back, &err), HELIO_FORBIDDEN);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "chmod 600"));
        assert_null(strstr(err.text, pair.secret_key));
    }
    write_file(path, pair.secret_key, 0400);
    assert_int_equal(helio_keypair_load(path, &back, NULL), HELIO_OK);
}

static void curve__what_is_not_a_key_is_refused_without_showing_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "short",
        "0123456789012345678901234567890123456789x",
        "012345678901234567890123456789012345678\"",
        "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "0123456789 0123456789 0123456789 0123456",
        "0123456789012345678901234567890123456789\n0123456789012345678901234567890123456789\n"};
    char path[128];
    helio_keypair_t back;
    path_of("bad", path);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        helio_error_t err = {0};
        write_file(path, texts[i], 0600);
        if (helio_keypair_load(path, &back, &err) != HELIO_INVALID || !strstr(err.text, path))
            fail_msg("case %zu: \"%s\"", i, err.text);
        assert_null(strstr(err.text, "0123456789"));
    }
    helio_error_t err = {0};
    assert_int_equal(helio_keypair_load(path_of("absent", path), &back, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(helio_keypair_load(folder, &back, &err), HELIO_INVALID);
    assert_int_equal(helio_keypair_save(&back, path_of("absent/key", path), &err), HELIO_IO);
}

static void curve__keys_are_distinguished_from_other_text(void **state)
{
    (void)state;
    helio_keypair_t pair;
    assert_int_equal(helio_keypair_new(&pair, NULL), HELIO_OK);
    assert_true(helio_curve_key_is_valid(helio_text_of(pair.public_key)));
    assert_false(helio_curve_key_is_valid((helio_text_t){pair.public_key, 39}));
    assert_false(helio_curve_key_is_valid((helio_text_t){NULL, 0}));
    assert_false(helio_curve_key_is_valid(HELIO_TEXT("0123456789\0"
                                                     "12345678901234567890123456789")));
    assert_false(helio_curve_key_is_valid(HELIO_TEXT("\xff"
                                                     "123456789012345678901234567890123456789")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve__a_saved_key_is_loaded_with_its_public_half_and_is_private),
        cmocka_unit_test(curve__no_public_key_looks_like_an_option),
        cmocka_unit_test(curve__a_key_file_is_never_overwritten),
        cmocka_unit_test(curve__a_key_that_others_can_read_is_refused_with_the_remedy),
        cmocka_unit_test(curve__what_is_not_a_key_is_refused_without_showing_it),
        cmocka_unit_test(curve__keys_are_distinguished_from_other_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
