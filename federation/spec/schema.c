/*  schema.c -- JSON Schema 2020-12 from a table of fields, for editors and API descriptions. */
#include <stdio.h>
#include <string.h>

#include "federation/spec/reader.h"

typedef struct writer {
    helio_buffer_t *out;
    uint32_t depth;
    bool first; /* nothing yet in the innermost object */
} writer_t;

static void json_string(helio_buffer_t *out, const char *text)
{
    helio_buffer_text(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            helio_buffer_printf(out, "\\%c", c);
        else if (c < 0x20)
            helio_buffer_printf(out, "\\u%04x", c);
        else
            helio_buffer_append(out, text, 1);
    }
    helio_buffer_text(out, "\"");
}

static void member(writer_t *self, const char *name)
{
    helio_buffer_printf(self->out, "%s\n%*s", self->first ? "" : ",", (int)(self->depth * 2), "");
    json_string(self->out, name);
    helio_buffer_text(self->out, ": ");
    self->first = false;
}

static void member_text(writer_t *self, const char *name, const char *value)
{
    member(self, name);
    json_string(self->out, value);
}

static void member_raw(writer_t *self, const char *name, const char *json)
{
    member(self, name);
    helio_buffer_text(self->out, json);
}

static void begin(writer_t *self)
{
    helio_buffer_text(self->out, "{");
    self->depth++;
    self->first = true;
}

static void end(writer_t *self)
{
    self->depth--;
    helio_buffer_printf(self->out, "\n%*s}", (int)(self->depth * 2), "");
    self->first = false;
}

static void members_of_table(writer_t *self, const helio_spec_table_t *table);

static void bounds(writer_t *self, const helio_spec_field_t *field)
{
    char number[32];
    bool any = field->least != 0 || field->most != 0;
    if (any || field->kind == HELIO_SPEC_U32 || field->kind == HELIO_SPEC_U64) {
        (void)snprintf(number, sizeof number, "%.15g", field->least);
        member_raw(self, "minimum", number);
    }
    if (field->most != 0) {
        (void)snprintf(number, sizeof number, "%.15g", field->most);
        member_raw(self, "maximum", number);
    }
}

static void text_members(writer_t *self, const helio_spec_field_t *field)
{
    char number[32];
    member_text(self, "type", "string");
    member_raw(self, "minLength", "1");
    if (field->most != 0) {
        (void)snprintf(number, sizeof number, "%.0f", field->most);
        member_raw(self, "maxLength", number);
    }
    if (field->rule && field->rule->pattern)
        member_text(self, "pattern", field->rule->pattern);
}

static void word_members(writer_t *self, const helio_spec_enum_t *words)
{
    member(self, "enum");
    for (uint32_t i = 0; i < words->count; i++) {
        helio_buffer_text(self->out, i ? ", " : "[");
        json_string(self->out, words->word(i));
    }
    helio_buffer_text(self->out, "]");
}

/*  A unit goes into a regular expression: its '/' needs no escape, it has no other special characters. */
static void quantity_members(writer_t *self, const helio_spec_field_t *field)
{
    char pattern[96];
    (void)snprintf(pattern, sizeof pattern, "^[0-9]+(\\.[0-9]{1,%u})? ?%s$",
                   field->kind == HELIO_SPEC_MONEY ? 6 : field->decimals,
                   field->kind == HELIO_SPEC_MONEY ? "USD" : field->unit);
    member_text(self, "type", "string");
    member_text(self, "pattern", pattern);
}

static void entries_members(writer_t *self, const helio_spec_field_t *field)
{
    char number[32];
    if (field->most != 0) {
        (void)snprintf(number, sizeof number, "%.0f", field->most);
        member_raw(self, field->kind == HELIO_SPEC_PAIRS ? "maxProperties" : "maxItems", number);
    }
}

static void collection_members(writer_t *self, const helio_spec_field_t *field)
{
    const char *pattern = field->rule ? field->rule->pattern : NULL;
    if (field->kind == HELIO_SPEC_WORDS)
        member_raw(self, "type", "[\"array\", \"string\"]");
    else
        member_text(self, "type", field->kind == HELIO_SPEC_LIST ? "array" : "object");
    if (field->kind == HELIO_SPEC_PAIRS) {
        member_raw(self, "additionalProperties", "{\"type\": [\"string\", \"number\", \"boolean\"]}");
        if (pattern) {
            member(self, "propertyNames");
            begin(self);
            member_text(self, "pattern", pattern);
            end(self);
        }
    } else {
        member(self, "items");
        begin(self);
        if (field->kind == HELIO_SPEC_LIST)
            members_of_table(self, field->table);
        else {
            member_text(self, "type", "string");
            if (pattern)
                member_text(self, "pattern", pattern);
        }
        end(self);
    }
    entries_members(self, field);
}

static void kind_members(writer_t *self, const helio_spec_field_t *field)
{
    if (field->words) {
        word_members(self, field->words);
        return;
    }
    switch (field->kind) {
    case HELIO_SPEC_TEXT:
    case HELIO_SPEC_PATH:
        text_members(self, field);
        break;
    case HELIO_SPEC_BOOL:
        member_text(self, "type", "boolean");
        break;
    case HELIO_SPEC_U32:
    case HELIO_SPEC_U64:
    case HELIO_SPEC_I64:
    case HELIO_SPEC_F64:
        member_text(self, "type", field->kind == HELIO_SPEC_F64 ? "number" : "integer");
        bounds(self, field);
        break;
    case HELIO_SPEC_DURATION:
        member_text(self, "type", "string");
        member_text(self, "pattern",
                    "^(0|(?=[0-9])([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$");
        break;
    case HELIO_SPEC_BYTES:
        member_text(self, "type", "string");
        member_text(self, "pattern", "^(0|[0-9]+(\\.[0-9]+)? ?(B|[kKMGTP]B|[KMGTP]iB))$");
        break;
    case HELIO_SPEC_MONEY:
    case HELIO_SPEC_QUANTITY:
        quantity_members(self, field);
        break;
    case HELIO_SPEC_TIME:
        member_text(self, "type", "string");
        member_text(self, "format", "date-time");
        break;
    case HELIO_SPEC_WORDS:
    case HELIO_SPEC_PAIRS:
    case HELIO_SPEC_LIST:
        collection_members(self, field);
        break;
    case HELIO_SPEC_GROUP:
        members_of_table(self, field->table);
        break;
    case HELIO_SPEC_CUSTOM:
        member(self, "allOf");
        helio_buffer_printf(self->out, "[%s]", field->schema ? field->schema : "true");
        break;
    case HELIO_SPEC_WORD: /* has words */
    case HELIO_SPEC_INCLUDE:
    case HELIO_SPEC_SKIP:
        break;
    }
}

static void default_member(writer_t *self, const helio_spec_field_t *field)
{
    bool raw = field->kind >= HELIO_SPEC_BOOL && field->kind <= HELIO_SPEC_F64;
    if (!field->fallback)
        return;
    if (raw)
        member_raw(self, "default", field->fallback);
    else
        member_text(self, "default", field->fallback);
}

static bool write_property(const helio_spec_field_t *field, size_t base, void *context)
{
    writer_t *self = context;
    (void)base;
    member(self, field->key);
    begin(self);
    if (field->doc)
        member_text(self, "description", field->doc);
    kind_members(self, field);
    default_member(self, field);
    end(self);
    return true;
}

static bool write_required(const helio_spec_field_t *field, size_t base, void *context)
{
    writer_t *self = context;
    (void)base;
    if (field->required) {
        helio_buffer_text(self->out, self->first ? "[" : ", ");
        json_string(self->out, field->key);
        self->first = false;
    }
    return true;
}

static bool is_optional(const helio_spec_field_t *field, size_t base, void *context)
{
    (void)base, (void)context;
    return !field->required;
}

static void members_of_table(writer_t *self, const helio_spec_table_t *table)
{
    member_text(self, "type", "object");
    member_raw(self, "additionalProperties", "false");
    if (!helio_spec_each(table, 0, is_optional, NULL)) {
        member(self, "required");
        writer_t list = {.out = self->out, .first = true};
        (void)helio_spec_each(table, 0, write_required, &list);
        helio_buffer_text(self->out, "]");
    }
    member(self, "properties");
    begin(self);
    (void)helio_spec_each(table, 0, write_property, self);
    end(self);
}

void helio_spec_schema(const helio_spec_table_t *table, const char *title, helio_buffer_t *out)
{
    writer_t self = {.out = out};
    begin(&self);
    member_text(&self, "$schema", "https://json-schema.org/draft/2020-12/schema");
    member_text(&self, "title", title);
    members_of_table(&self, table);
    end(&self);
    helio_buffer_text(out, "\n");
}

void helio_spec_job_schema(helio_buffer_t *out)
{
    helio_spec_schema(&helio_spec_job_table, "Heliostat job", out);
}

void helio_spec_site_schema(helio_buffer_t *out)
{
    helio_spec_schema(&helio_spec_site_table, "Heliostat site", out);
}
