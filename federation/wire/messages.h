/*  messages.h -- defines every message between a site agent and the broker, once.
 *
 *  A frame is one msgpack array: [type, field, field, …], with the fields in the order of the tables below and of the
 *  model's records. Numbers are never reused. Even numbers go to the agent, odd numbers to the broker. docs/protocol.md
 *  describes the protocol; its tables are generated from here.
 *
 *  One version number covers messages, journals and all records. To append a field, a message or a value of an
 *  enumeration, increment HELIO_PROTOCOL_VERSION (once per release) and write the new version beside the addition (the
 *  last argument of F; HELIO_WIRE_LATER_TABLE; HELIO_MESSAGE_TABLE). To remove or change anything, raise
 *  HELIO_PROTOCOL_VERSION_MIN too; the broker then refuses all older peers.
 *
 *  Session: HELLO -> WELCOME (or REFUSAL) -> INVENTORY… (last=true) -> VERDICTS… (last=true) -> everything else. The
 *  broker sends no order before the inventory is complete.
 */
#ifndef HELIO_WIRE_MESSAGES_H
#define HELIO_WIRE_MESSAGES_H

#include "federation/model/attempt.h"
#include "federation/model/site.h"

/*  Tests build peers of other versions from the same sources (tests/peers): additions after HELIO_PROTOCOL_SPEAKS
 *  are then neither written nor read. */
#ifndef HELIO_PROTOCOL_SPEAKS
#define HELIO_PROTOCOL_SPEAKS 10
#endif
#ifndef HELIO_PROTOCOL_SPEAKS_MIN
#define HELIO_PROTOCOL_SPEAKS_MIN 1
#endif
enum {
    HELIO_PROTOCOL_VERSION = HELIO_PROTOCOL_SPEAKS,         /* this version */
    HELIO_PROTOCOL_VERSION_MIN = HELIO_PROTOCOL_SPEAKS_MIN, /* oldest supported version */
    HELIO_WIRE_FRAME_MAX = 1 << 20,
    HELIO_WIRE_BATCH_MAX = 1000,       /* items of one list message */
    HELIO_CHANNEL_COMMAND_MAX = 256,   /* words of a channel's command */
    HELIO_CHANNEL_DATA_MAX = 64 << 10, /* bytes of one message of a channel */
    HELIO_CHANNEL_WINDOW = 256 << 10   /* bytes that may be under way in one direction of a channel */
};

/*  The first two fields of HELLO and of REFUSAL keep their position in every version: they tell peers that they have
 *  no version in common. */
#define HELIO_MSG_HELLO_FIELDS(F, R)                                                                            \
    F(R, U32, protocol, 0, _) /* newest and oldest version that the agent speaks */                             \
    F(R, U32, protocol_min, 0, _)                                                                               \
    F(R, TEXT, agent_version, 32, _)                                                                            \
    F(R, UUID, boot_id, 0, _)         /* new at every start of the agent */                                     \
    F(R, U64, incarnation_seen, 0, _) /* highest ever seen: the agent refuses a lower one */                    \
    F(R, U64, broker_epoch_seen, 0, _)                                                                          \
    F(R, I64, wall_ms, 0, _)                                                                                    \
    F(R, BOOL, reconcile_only, 0, _) /* the journal was damaged: start nothing */                               \
    F(R, RECORD, profile, 0, helio_site_profile)                                                                \
    F(R, I64, memory_since_ms, 0, _, 5) /* when its journal was made, by the site's clock: names the journal */ \
    F(R, U64, memory_mark, 0, _, 5)     /* rises in the journal before each HELLO and with each report */       \
    F(R, UUID, former_boot_id, 0, _, 5) /* of the last process in session that is proved to have ended */
#define HELIO_MSG_WELCOME_FIELDS(F, R)                            \
    F(R, U32, protocol, 0, _) /* the one to speak: min of both */ \
    F(R, U64, incarnation, 0, _)                                  \
    F(R, U64, broker_epoch, 0, _)                                 \
    F(R, U64, lease_ms, 0, _)                                     \
    F(R, U64, renew_ms, 0, _)                                     \
    F(R, U64, summary_ms, 0, _)                                   \
    F(R, I64, wall_ms, 0, _)                                      \
    F(R, U64, memory_mark, 0, _, 5) /* the highest ever seen of this journal: the agent goes on above it */
#define HELIO_MSG_INVENTORY_FIELDS(F, R)                      \
    F(R, LIST, holdings, HELIO_WIRE_BATCH_MAX, helio_holding) \
    F(R, BOOL, last, 0, _)
#define HELIO_MSG_VERDICTS_FIELDS(F, R)                               \
    F(R, LIST, verdicts, HELIO_WIRE_BATCH_MAX, helio_attempt_verdict) \
    F(R, BOOL, last, 0, _)
#define HELIO_MSG_SUMMARY_FIELDS(F, R) F(R, RECORD, summary, 0, helio_site_summary)
#define HELIO_MSG_ORDERS_FIELDS(F, R) \
    F(R, U64, incarnation, 0, _)      \
    F(R, LIST, orders, HELIO_WIRE_BATCH_MAX, helio_order)
#define HELIO_MSG_REPORTS_FIELDS(F, R) F(R, LIST, reports, HELIO_WIRE_BATCH_MAX, helio_report)
#define HELIO_MSG_REPORTS_ACK_FIELDS(F, R) F(R, U64, seq, 0, _) /* all reports up to this number are durable */
#define HELIO_MSG_RENEW_FIELDS(F, R) F(R, I64, sent_boot_ms, 0, _)
#define HELIO_MSG_RENEWED_FIELDS(F, R)                                                        \
    F(R, I64, sent_boot_ms, 0, _) /* echoed: the lease counts from the agent's own sending */ \
    F(R, U64, lease_ms, 0, _)
#define HELIO_MSG_STOPS_FIELDS(F, R) F(R, LIST, stops, HELIO_WIRE_BATCH_MAX, helio_stop)
#define HELIO_MSG_RESYNC_FIELDS(F, R) F(R, TEXT, reason, 128, _) /* send a full summary */
#define HELIO_MSG_LOG_READ_FIELDS(F, R) \
    F(R, U64, request, 0, _)            \
    F(R, KEY, key, 0, _)                \
    F(R, U32, epoch, 0, _)              \
    F(R, U64, offset, 0, _)             \
    F(R, U32, size_max, 256 << 10, _)   \
    F(R, BOOL, from_end, 0, _,          \
      10) /* offset counts back from the end of what was printed so far; LOG_DATA has the real one */
#define HELIO_MSG_LOG_DATA_FIELDS(F, R)                                                    \
    F(R, U64, request, 0, _)                                                               \
    F(R, U32, rc, HELIO_TIMEOUT, _) /* helio_rc: NOT_FOUND if the site has no log of it */ \
    F(R, U64, offset, 0, _)                                                                \
    F(R, BYTES, data, 256 << 10, _)                                                        \
    F(R, BOOL, end, 0, _) /* the attempt has ended and this is the last of its log */
#define HELIO_MSG_DEMAND_FIELDS(F, R) \
    F(R, LIST, pools, HELIO_SITE_POOLS_MAX, helio_pool_demand) /* all elastic ones; repeated while it stands */
#define HELIO_MSG_SIGNALS_FIELDS(F, R) F(R, LIST, signals, HELIO_WIRE_BATCH_MAX, helio_attempt_signal)
/*  A channel: bytes in both directions, between a client and a command or a port of a running attempt. Neither side has
 *  more than HELIO_CHANNEL_WINDOW bytes under way: the agent counts its output, of both streams together, from
 *  `received`, the broker its input from `taken`. */
#define HELIO_MSG_CHANNEL_OPEN_FIELDS(F, R)                                                                           \
    F(R, U64, channel, 0, _) /* unique in the session, never 0 */                                                     \
    F(R, KEY, key, 0, _)                                                                                              \
    F(R, U32, epoch, 0, _)                                                                                            \
    F(R, U32, node, 0, _) /* of a gang; 0 = the first */                                                              \
    F(R, U32, kind, HELIO_CHANNEL_KIND_COUNT - 1, _)                                                                  \
    F(R, LIST, command, HELIO_CHANNEL_COMMAND_MAX, helio_argument) /* none = the login shell of the attempt's user */ \
    F(R, U32, port, 65535, _)                                                                                         \
    F(R, BOOL, terminal, 0, _)                                                                                        \
    F(R, U32, rows, 65535, _)                                                                                         \
    F(R, U32, columns, 65535, _)                                                                                      \
    F(R, TEXT, term, 64, _) /* TERM of the terminal */                                                                \
    F(R, U64, limit_ms, 0, _)                                                                                         \
    F(R, U64, idle_ms, 0, _)
#define HELIO_MSG_CHANNEL_INPUT_FIELDS(F, R)      \
    F(R, U64, channel, 0, _)                      \
    F(R, BYTES, data, HELIO_CHANNEL_DATA_MAX, _)  \
    F(R, BOOL, end, 0, _)     /* of the input */  \
    F(R, U32, rows, 65535, _) /* 0 = unchanged */ \
    F(R, U32, columns, 65535, _)                  \
    F(R, U64, received, 0, _) /* bytes of output that the client has taken */
#define HELIO_MSG_CHANNEL_CLOSE_FIELDS(F, R) F(R, U64, channel, 0, _)
#define HELIO_MSG_CHANNEL_OUTPUT_FIELDS(F, R)                                                                   \
    F(R, U64, channel, 0, _)                                                                                    \
    F(R, U32, stream, HELIO_CHANNEL_STREAM_COUNT - 1, _)                                                        \
    F(R, BYTES, data, HELIO_CHANNEL_DATA_MAX, _) /* none, stream none: the channel is open, or more is taken */ \
    F(R, U64, taken, 0, _)                       /* bytes of input that the process was given */
#define HELIO_MSG_CHANNEL_END_FIELDS(F, R)                               \
    F(R, U64, channel, 0, _)                                             \
    F(R, U32, rc, HELIO_TIMEOUT, _) /* helio_rc; OK: it ran and ended */ \
    F(R, U32, exit_code, 255, _)    /* 128 + n: ended by signal n */     \
    F(R, TEXT, text, 512, _)        /* why, unless it ended by itself */
#define HELIO_MSG_REFUSAL_FIELDS(F, R)                                                               \
    F(R, U32, rc, HELIO_TIMEOUT, _)                                                                  \
    F(R, TEXT, text, 512, _)                                                                         \
    F(R, U32, protocol, 0, _, 3) /* newest and oldest version that the broker speaks; 0 = not set */ \
    F(R, U32, protocol_min, 0, _, 3)
#define HELIO_MSG_BYE_FIELDS(F, R) F(R, TEXT, reason, 128, _)

/*  number, NAME, record, sender, meaning */
#define HELIO_MESSAGE_TABLE(X)                                                                           \
    X(1, HELLO, hello, "agent", "opens a session: identity, capabilities, what the agent has seen")      \
    X(2, WELCOME, welcome, "broker", "the session is open; its clocks")                                  \
    X(3, INVENTORY, inventory, "agent", "what the journal and the backend hold, in parts")               \
    X(4, VERDICTS, verdicts, "broker", "the verdict on each holding")                                    \
    X(5, SUMMARY, summary, "agent", "capacity, queue and series, full or as changes")                    \
    X(6, ORDERS, orders, "broker", "run these attempts")                                                 \
    X(7, REPORTS, reports, "agent", "what happened to attempts; repeated until acknowledged")            \
    X(8, REPORTS_ACK, reports_ack, "broker", "reports up to this number are in the ledger")              \
    X(9, RENEW, renew, "agent", "requests the lease for all its attempts")                               \
    X(10, RENEWED, renewed, "broker", "grants the lease")                                                \
    X(11, LOG_DATA, log_data, "agent", "a piece of an attempt's log")                                    \
    X(12, LOG_READ, log_read, "broker", "requests a piece of a log")                                     \
    X(13, BYE, bye, "agent", "an orderly stop; attempts keep running")                                   \
    X(14, STOPS, stops, "broker", "stop these attempts")                                                 \
    X(15, CHANNEL_OUTPUT, channel_output, "agent", "bytes that came out of a channel; since version 10") \
    X(16, RESYNC, resync, "broker", "a change lacks its base: send a full summary")                      \
    X(17, CHANNEL_END, channel_end, "agent", "a channel has ended, and why; since version 10")           \
    X(18, REFUSAL, refusal, "broker", "no session, or the end of one; says why")                         \
    X(20, DEMAND, demand, "broker", "what waiting jobs need of elastic pools; since version 7")          \
    X(22, SIGNALS, signals, "broker", "send these attempts a signal; since version 8")                   \
    X(24, CHANNEL_OPEN, channel_open, "broker", "open a channel to a running attempt; since version 10") \
    X(26, CHANNEL_INPUT, channel_input, "broker",                                                        \
      "bytes for a channel, its terminal's size, how much was received; since version 10")               \
    X(28, CHANNEL_CLOSE, channel_close, "broker", "end a channel; since version 10")

/*  Values of enumerations that were added later. If the agreed version lacks a value, the sender omits the item (of
 *  `list`) that has it: an older reader would refuse the whole message. record, field, value, word, since, what is
 *  omitted */
#define HELIO_WIRE_LATER_TABLE(X) X(helio_series, signal, HELIO_SIGNAL_RESERVED, "reserved_gpus", 3, "the series")

#define HELIO_MESSAGE_ENUMERATOR_(number, NAME, record, sender, doc) HELIO_MSG_##NAME = number,
typedef enum helio_message { HELIO_MESSAGE_TABLE(HELIO_MESSAGE_ENUMERATOR_) HELIO_MESSAGE_LIMIT = 32 } helio_message_t;

HELIO_RECORD_DECLARE(helio_msg_hello, HELIO_MSG_HELLO_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_welcome, HELIO_MSG_WELCOME_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_inventory, HELIO_MSG_INVENTORY_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_verdicts, HELIO_MSG_VERDICTS_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_summary, HELIO_MSG_SUMMARY_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_orders, HELIO_MSG_ORDERS_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_reports, HELIO_MSG_REPORTS_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_reports_ack, HELIO_MSG_REPORTS_ACK_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_renew, HELIO_MSG_RENEW_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_renewed, HELIO_MSG_RENEWED_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_stops, HELIO_MSG_STOPS_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_resync, HELIO_MSG_RESYNC_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_log_read, HELIO_MSG_LOG_READ_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_log_data, HELIO_MSG_LOG_DATA_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_demand, HELIO_MSG_DEMAND_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_signals, HELIO_MSG_SIGNALS_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_channel_open, HELIO_MSG_CHANNEL_OPEN_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_channel_input, HELIO_MSG_CHANNEL_INPUT_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_channel_close, HELIO_MSG_CHANNEL_CLOSE_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_channel_output, HELIO_MSG_CHANNEL_OUTPUT_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_channel_end, HELIO_MSG_CHANNEL_END_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_refusal, HELIO_MSG_REFUSAL_FIELDS)
HELIO_RECORD_DECLARE(helio_msg_bye, HELIO_MSG_BYE_FIELDS)

/*  The record of a message type, NULL if the number is unknown; and its name ("HELLO"). */
const helio_record_type_t *helio_message_type(uint32_t number);
const char *helio_message_name(uint32_t number);
/*  Number of a record's fields in a version: always a prefix. */
size_t helio_wire_fields(const helio_record_type_t *type, uint32_t version);

/*  The version to use with a peer that supports `least` to `most`: the newest common one; 0 = none. */
uint32_t helio_protocol_agreed(uint32_t least, uint32_t most);
/*  The version since which a value of a record's field may be sent: from HELIO_WIRE_LATER_TABLE, otherwise 1. */
uint32_t helio_wire_value_since(const helio_record_type_t *type, const char *field, uint32_t value);

#endif
