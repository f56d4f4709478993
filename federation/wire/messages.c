#include "federation/wire/messages.h"

#define X(number, NAME, record, sender, doc) \
    HELIO_RECORD_DEFINE(helio_msg_##record, HELIO_MSG_##NAME##_FIELDS)
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
