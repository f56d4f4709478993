/*  question.c -- the frame that asks a broker about this site, and what its reply means. */
#include "site-agent/uplink/question.h"

#include <stdio.h>

#include "federation/wire/codec.h"
#include "federation/wire/messages.h"

helio_rc helio_question_frame(const helio_site_profile_t *site, helio_buffer_t *out, helio_error_t *err)
{
    helio_msg_hello_t hello = {.agent_version = HELIO_TEXT(HELIO_PROGRAM_VERSION), .profile = *site};
    return helio_wire_encode(HELIO_MSG_HELLO, &hello, out, err);
}

/*  A broker that does not tell its versions is so old that only one existed. */
static void compare_versions(const helio_msg_refusal_t *refusal, char *ret_fault, size_t fault_size)
{
    ret_fault[0] = '\0';
    if (refusal->protocol && !helio_protocol_agreed(refusal->protocol_min, refusal->protocol))
        (void)snprintf(ret_fault, fault_size,
                       "no protocol version in common: the broker speaks %u to %u, this agent %d to %d: update the %s",
                       refusal->protocol_min, refusal->protocol, HELIO_PROTOCOL_VERSION_MIN, HELIO_PROTOCOL_VERSION,
                       refusal->protocol_min > HELIO_PROTOCOL_VERSION ? "agent" : "broker");
}

bool helio_question_answer(helio_text_t frame, helio_rc *ret_rc, char *ret_text, size_t text_size, char *ret_fault,
                           size_t fault_size)
{
    uint32_t message;
    void *record = NULL;
    helio_arena_t *arena = helio_arena_new();
    bool answers = helio_wire_decode(frame, arena, &message, &record, NULL) == HELIO_OK && message == HELIO_MSG_REFUSAL;
    if (answers) {
        const helio_msg_refusal_t *refusal = record;
        *ret_rc = (helio_rc)refusal->rc;
        (void)helio_text_copy(refusal->text, ret_text, text_size);
        compare_versions(refusal, ret_fault, fault_size);
    }
    helio_arena_destroy(&arena);
    return answers;
}
