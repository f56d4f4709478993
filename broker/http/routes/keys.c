/*  keys.c -- /v1/keys and what changes them: sites are enrolled by their public keys, and keys are revoked. */
#include <jansson.h>
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

enum { KEY_CHARS = 40 };

void helio_keys_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_site_keys", 0, NULL);
}

static void on_enrolled(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    else
        helio_response_status(self, 201, "site", self->parameter, "enrolled");
}

typedef struct enrolment {
    helio_text_t site, public_key;
    bool again; /* also if it was revoked */
} enrolment_t;

static void enrol(helio_request_context_t *self, const enrolment_t *wanted)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_site_key_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->key = (helio_row_site_key_t){.public_key = helio_arena_text(arena, wanted->public_key),
                                        .site = helio_arena_text(arena, wanted->site),
                                        .created_ms = helio_clock_wall_ms()};
    helio_await_event(self, on_enrolled, HELIO_BROKER_EV_SITE_KEY, event);
}

/*  A key opens the door of one site: what it has opened so far is asked first. */
static void on_holder(helio_request_context_t *self, const helio_result_t *result)
{
    const enrolment_t *wanted = helio_request_context_state(self, sizeof *wanted);
    if (result->rc == HELIO_NOT_FOUND) {
        enrol(self, wanted);
        return;
    }
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    helio_text_t json = helio_buffer_view(&result->data);
    json_t *stored = json_loadb(json.data, json.size, 0, NULL);
    const char *site = json_string_value(json_object_get(stored, "site"));
    const json_t *revoked = json_object_get(stored, "revoked_ms");
    if (!site || !json_is_integer(revoked))
        HELIO_PROBLEM0(self, 500, DATABASE_REPLY);
    else if (!json_integer_value(revoked) && !helio_text_is(wanted->site, site))
        HELIO_PROBLEM(self, 409, KEY_ELSEWHERE, helio_value_string(site));
    else if (json_integer_value(revoked) && !wanted->again)
        HELIO_PROBLEM(self, 409, KEY_REVOKED, helio_value_number(json_integer_value(revoked)));
    else
        enrol(self, wanted);
    json_decref(stored);
}

static bool is_z85_key(helio_text_t text)
{
    static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    if (text.size != KEY_CHARS)
        return false;
    for (uint32_t i = 0; i < text.size; i++)
        if (!memchr(z85, text.data[i], sizeof z85 - 1))
            return false;
    return true;
}

void helio_keys_enrol(helio_request_context_t *self)
{
    helio_member_t members[] = {
        {.name = "site", .kind = HELIO_MEMBER_TEXT, .bytes_max = HELIO_SITE_NAME_MAX, .required = true},
        {.name = "public_key", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64, .required = true},
        {.name = "again", .kind = HELIO_MEMBER_BOOL}};
    if (!helio_command_read(self, self->arena, members, 3))
        return;
    if (!helio_command_check_name(self, "site", members[0].text, HELIO_SITE_NAME_MAX))
        return;
    if (!is_z85_key(members[1].text)) {
        HELIO_PROBLEM0(self, 400, PUBLIC_KEY_INVALID);
        return;
    }
    enrolment_t *wanted = helio_request_context_state(self, sizeof *wanted);
    self->parameter = helio_arena_string(self->arena, members[0].text);
    const char *key = helio_arena_string(self->arena, members[1].text);
    *wanted = (enrolment_t){helio_text_of(self->parameter), helio_text_of(key), members[2].flag};
    helio_await_read(self, on_holder, "read_key", 1, (const char *[]){key});
}

/* ---- revocation ---------------------------------------------------------------------------------------- */

static void on_revoked(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    else
        helio_response_status(self, 200, "site", self->parameter, "revoked");
}

/*  The core knows no keys. So what is stored is read first: a key that was never this site's is not found, and one that
 *  is revoked already stays as it is. */
static void on_found(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "key");
        return;
    }
    helio_text_t json = helio_buffer_view(&result->data);
    json_t *stored = json_loadb(json.data, json.size, 0, NULL);
    const char *key = json_string_value(json_object_get(stored, "public_key"));
    const json_t *created = json_object_get(stored, "created_ms"), *revoked = json_object_get(stored, "revoked_ms");
    if (!key || !json_is_integer(created) || !json_is_integer(revoked)) {
        HELIO_PROBLEM0(self, 500, DATABASE_REPLY);
    } else if (json_integer_value(revoked)) {
        helio_response_status(self, 200, "site", self->parameter, "revoked");
    } else {
        helio_arena_t *arena = helio_await_arena(self);
        helio_ev_site_key_t *event = helio_arena_alloc(arena, 1, sizeof *event);
        event->actor = helio_request_context_actor(self);
        event->key = (helio_row_site_key_t){.public_key = helio_arena_text(arena, helio_text_of(key)),
                                            .site = helio_arena_text(arena, helio_text_of(self->parameter)),
                                            .created_ms = json_integer_value(created),
                                            .revoked_ms = helio_clock_wall_ms()};
        helio_await_event(self, on_revoked, HELIO_BROKER_EV_SITE_KEY, event);
    }
    json_decref(stored);
}

void helio_keys_revoke(helio_request_context_t *self)
{
    helio_text_t key = helio_text_of(helio_request_context_query(self, "public_key"));
    if (!helio_command_name(helio_text_of(self->parameter), HELIO_SITE_NAME_MAX))
        HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("site"), helio_value_string(self->parameter));
    else if (!is_z85_key(key))
        HELIO_PROBLEM0(self, 400, PUBLIC_KEY_INVALID);
    else
        helio_await_read(self, on_found, "read_site_key", 2, (const char *[]){self->parameter, key.data});
}
