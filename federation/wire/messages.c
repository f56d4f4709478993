/*  messages.c -- the tables of messages and of later additions, looked up by number and version. */
#include "federation/wire/messages.h"

#include <string.h>

#define X(number, NAME, record, sender, doc) HELIO_RECORD_DEFINE(helio_msg_##record, HELIO_MSG_##NAME##_FIELDS)
HELIO_MESSAGE_TABLE(X)
#undef X

static const struct {
    const helio_record_type_t *type;
    const char *name;
} messages[HELIO_MESSAGE_LIMIT] = {
#define X(number, NAME, record, sender, doc) [number] = {&helio_msg_##record##_type, #NAME},
    HELIO_MESSAGE_TABLE(X)
#undef X
};

const helio_record_type_t *helio_message_type(uint32_t number)
{
    return number < HELIO_MESSAGE_LIMIT ? messages[number].type : NULL;
}

const char *helio_message_name(uint32_t number)
{
    return number < HELIO_MESSAGE_LIMIT && messages[number].name ? messages[number].name : "UNKNOWN";
}

size_t helio_wire_fields(const helio_record_type_t *type, uint32_t version)
{
    size_t count = type->field_count;
    while (count && type->fields[count - 1].since > version)
        count--;
    return count;
}

uint32_t helio_protocol_agreed(uint32_t least, uint32_t most)
{
    uint32_t agreed = most < HELIO_PROTOCOL_VERSION ? most : HELIO_PROTOCOL_VERSION;
    return agreed < least || agreed < HELIO_PROTOCOL_VERSION_MIN ? 0 : agreed;
}

uint32_t helio_wire_value_since(const helio_record_type_t *type, const char *field, uint32_t value)
{
    static const struct {
        const helio_record_type_t *type;
        const char *field;
        uint32_t value, since;
    } later[] = {
#define X(record, field, value, word, since, left_out) {&record##_type, #field, value, since},
        HELIO_WIRE_LATER_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (later[i].type == type && later[i].value == value && strcmp(later[i].field, field) == 0)
            return later[i].since;
    return 1;
}
