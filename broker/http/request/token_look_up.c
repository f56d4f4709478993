/*  token_look_up.c -- the query, and its answer as a row. */
#include "broker/http/request/token_look_up.h"

#include <jansson.h>
#include <stdio.h>

#include "federation/base/char.h"

/*  Requests with an unknown token have one turn among the tenants, none of which can have such a name (read_queue.h).
 *  */
#define STRANGERS "?"

static void ask(helio_request_context_t *self, helio_request_context_step_fn *next, const char *id, const char *hash)
{
    helio_await_read(self, next, "read_token", 2, (const char *[]){id, hash});
}

/*  Ids are text in the database: not every byte of a header is. */
static bool can_be_an_id(helio_text_t id)
{
    bool good = id.size && id.size <= 32;
    for (uint32_t i = 0; i < id.size && good; i++)
        good = helio_is_letter(id.data[i]) || helio_is_digit(id.data[i]) || id.data[i] == '-';
    return good;
}

void helio_token_look_up(helio_request_context_t *self, helio_request_context_step_fn *next, helio_text_t credential)
{
    helio_text_t id = {0};
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
    char hex[2 * HELIO_TOKEN_HASH_SIZE + 1] = "";
    bool good = helio_token_parse(credential, &id, hash) && can_be_an_id(id);
    for (size_t i = 0; i < sizeof hash && good; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    ask(self, next, good ? helio_arena_string(self->arena, id) : "", hex);
    self->operation->read.owner = STRANGERS;
}

void helio_token_look_up_id(helio_request_context_t *self, helio_request_context_step_fn *next, const char *id)
{
    ask(self, next, can_be_an_id(helio_text_of(id)) ? id : "", NULL);
}

static helio_text_t text_at(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));
    return text ? helio_text_of(text) : (helio_text_t){0};
}

static int64_t number_at(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static void learn(helio_token_table_t *tokens, const json_t *row)
{
    uint8_t hash[HELIO_TOKEN_HASH_SIZE];
    helio_text_t hex = text_at(row, "hash");
    for (size_t i = 0; i < sizeof hash && hex.size == 2 * sizeof hash; i++)
        hash[i] = (uint8_t)(helio_hex_digit(hex.data[2 * i]) << 4 | helio_hex_digit(hex.data[2 * i + 1]));
    helio_token_table_learn(tokens, &(helio_row_token_t){
                                        .token_id = text_at(row, "token_id"),
                                        .hash = {(const char *)hash, hex.size == 2 * sizeof hash ? sizeof hash : 0},
                                        .tenant = text_at(row, "tenant"),
                                        .user = text_at(row, "user"),
                                        .role = text_at(row, "role"),
                                        .created_ms = number_at(row, "created_ms"),
                                        .expires_ms = number_at(row, "expires_ms"),
                                        .revoked_ms = number_at(row, "revoked_ms"),
                                    });
}

bool helio_token_look_up_ended(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc == HELIO_NOT_FOUND)
        return true;
    helio_text_t json = helio_buffer_view(&result->data);
    json_t *row = result->rc == HELIO_OK ? json_loadb(json.data, json.size, 0, NULL) : NULL;
    if (row)
        learn(self->http->tokens, row);
    json_decref(row);
    return row != NULL;
}
