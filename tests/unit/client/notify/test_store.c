/*  What is committed is there after a kill, and nothing else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/notify/store.h"
#include "tests/support/folder.h"

static helio_notify_store_t *open_store(const char *root)
{
    helio_notify_store_t *store = NULL;
    helio_error_t err = {0};
    if (helio_notify_store_open(root, 1000, &store, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return store;
}

static uint64_t add(helio_notify_store_t *store, const char *target, const char *id)
{
    uint64_t number = 0;
    helio_error_t err = {0};
    helio_notify_delivery_t delivery = {
        .target = target, .id = id, .about = "job", .created_wall_ms = 5, .message = HELIO_TEXT("{\"a\":1}")};
    if (helio_notify_store_add(store, &delivery, &number, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return number;
}

static void count_delivery(void *arg, const helio_notify_delivery_t *delivery)
{
    helio_buffer_printf(arg, "%s/%s/%s ", delivery->target, delivery->id, delivery->about);
}

static void expect(helio_notify_store_t *store, const char *deliveries)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t found = {0};
    helio_error_t err;
    helio_buffer_text(&found, "");
    assert_int_equal(helio_notify_store_load(store, count_delivery, &found, &err), HELIO_OK);
    assert_string_equal(found.size ? found.data : "", deliveries);
}

static void what_was_committed__stays(void **state)
{
    (void)state;
    char root[] = "/tmp/helio-notify-store-XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    helio_error_t err;
    helio_notify_cursor_t cursor = {.known = true};
    bool told = true;
    helio_notify_store_t *store = open_store(root);
    assert_int_equal(helio_notify_store_cursor(store, &cursor, &err), HELIO_OK);
    assert_false(cursor.known);
    uint64_t first = add(store, "chat", "1");
    assert_true(first > 0);
    assert_true(add(store, "mail", "1") > first);
    assert_int_equal(add(store, "chat", "1"), 0); /* it waits already */
    cursor = (helio_notify_cursor_t){.known = true, .last = 77, .seen_ms = 123};
    assert_int_equal(helio_notify_store_set_cursor(store, &cursor, &err), HELIO_OK);
    assert_int_equal(helio_notify_store_tell(store, "kept", 2000, &err), HELIO_OK);
    assert_int_equal(helio_notify_store_tell(store, "old", 500, &err), HELIO_OK);
    assert_int_equal(helio_notify_store_commit(store, &err), HELIO_OK);
    (void)add(store, "chat", "2"); /* never committed */
    helio_notify_store_close(&store);
    store = open_store(root);
    expect(store, "chat/1/job mail/1/job ");
    assert_int_equal(helio_notify_store_cursor(store, &cursor, &err), HELIO_OK);
    assert_true(cursor.known && cursor.last == 77 && cursor.seen_ms == 123);
    assert_int_equal(helio_notify_store_told(store, "kept", &told, &err), HELIO_OK);
    assert_true(told);
    assert_int_equal(helio_notify_store_told(store, "old", &told, &err), HELIO_OK);
    assert_false(told);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t id = {0}, message = {0};
    assert_int_equal(helio_notify_store_message(store, first, &id, &message, &err), HELIO_OK);
    assert_string_equal(id.data, "1");
    assert_string_equal(message.data, "{\"a\":1}");
    assert_int_equal(helio_notify_store_delete(store, first, &err), HELIO_OK);
    assert_int_equal(helio_notify_store_commit(store, &err), HELIO_OK);
    expect(store, "mail/1/job ");
    assert_int_equal(helio_notify_store_message(store, first, &id, &message, &err), HELIO_NOT_FOUND);
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/notify.db", root);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    helio_notify_store_close(&store);
    assert_int_equal(folder_remove(root), 0);
}

static void a_second_process__and_damage__are_errors_that_say_so(void **state)
{
    (void)state;
    char root[] = "/tmp/helio-notify-store-XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    helio_error_t err;
    helio_notify_store_t *store = open_store(root), *second = NULL;
    assert_int_equal(helio_notify_store_open(root, 1000, &second, &err), HELIO_BUSY);
    helio_notify_store_close(&store);
    (void)snprintf(path, sizeof path, "%s/notify.db", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        assert_true(fputs("no database\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(helio_notify_store_open(root, 1000, &second, &err), HELIO_PROTOCOL);
    assert_non_null(strstr(err.text, "move notify.db away"));
    assert_int_equal(helio_notify_store_open("/nonexistent/state", 1000, &second, &err), HELIO_IO);
    assert_int_equal(folder_remove(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed__stays),
        cmocka_unit_test(a_second_process__and_damage__are_errors_that_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
