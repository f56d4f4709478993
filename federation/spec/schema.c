/*  schema.c -- JSON Schema 2020-12 from a table of fields, for editors and API descriptions. */
#include <stdio.h>

#include "federation/base/json.h"
#include "federation/spec/reader.h"

static void members_of_table(helio_json_writer_t *self, const helio_spec_table_t *table);

/*  Whole numbers are written without decimals, even if the field accepts decimals. */
static void put_bound(helio_json_writer_t *self, const char *name, double bound)
{
    if ((double)(int64_t)bound < bound || (double)(int64_t)bound > bound)
        helio_json_put_real(self, name, bound);
    else
        helio_json_put_i64(self, name, (int64_t)bound);
}

static void bounds(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    bool any = field->least != 0 || field->most != 0;
    if (any || field->kind == HELIO_SPEC_U32 || field->kind == HELIO_SPEC_U64)
        put_bound(self, "minimum", field->least);
    if (field->most != 0)
        put_bound(self, "maximum", field->most);
}

static void text_members(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    helio_json_put_string(self, "type", "string");
    helio_json_put_u64(self, "minLength", 1);
    if (field->most != 0)
        helio_json_put_u64(self, "maxLength", (uint64_t)field->most);
    if (field->rule && field->rule->pattern)
        helio_json_put_string(self, "pattern", field->rule->pattern);
}

static void word_members(helio_json_writer_t *self, const helio_spec_enum_t *words)
{
    helio_json_begin_array(self, "enum");
    for (uint32_t i = 0; i < words->count; i++)
        helio_json_put_string(self, NULL, words->word(i));
    helio_json_end(self);
}

/*  A unit goes into a regular expression: its '/' needs no escape, it has no other special characters. */
static void quantity_members(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    char pattern[96];
    (void)snprintf(pattern, sizeof pattern, "^[0-9]+(\\.[0-9]{1,%u})? ?%s$",
                   field->kind == HELIO_SPEC_MONEY ? 6 : field->decimals,
                   field->kind == HELIO_SPEC_MONEY ? "USD" : field->unit);
    helio_json_put_string(self, "type", "string");
    helio_json_put_string(self, "pattern", pattern);
}

static void entries_members(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    if (field->most != 0)
        helio_json_put_u64(self, field->kind == HELIO_SPEC_PAIRS ? "maxProperties" : "maxItems", (uint64_t)field->most);
}

static void collection_members(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    const char *pattern = field->rule ? field->rule->pattern : NULL;
    if (field->kind == HELIO_SPEC_STRINGS)
        helio_json_put_raw(self, "type", HELIO_TEXT("[\"array\", \"string\"]"));
    else
        helio_json_put_string(self, "type", field->kind == HELIO_SPEC_LIST ? "array" : "object");
    if (field->kind == HELIO_SPEC_PAIRS) {
        helio_json_put_raw(self, "additionalProperties",
                           HELIO_TEXT("{\"type\": [\"string\", \"number\", \"boolean\"]}"));
        if (pattern) {
            helio_json_begin_object(self, "propertyNames");
            helio_json_put_string(self, "pattern", pattern);
            helio_json_end(self);
        }
    } else {
        helio_json_begin_object(self, "items");
        if (field->kind == HELIO_SPEC_LIST)
            members_of_table(self, field->table);
        else {
            helio_json_put_string(self, "type", "string");
            if (pattern)
                helio_json_put_string(self, "pattern", pattern);
        }
        helio_json_end(self);
    }
    entries_members(self, field);
}

static void kind_members(helio_json_writer_t *self, const helio_spec_field_t *field)
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
        helio_json_put_string(self, "type", "boolean");
        break;
    case HELIO_SPEC_U32:
    case HELIO_SPEC_U64:
    case HELIO_SPEC_I64:
    case HELIO_SPEC_F64:
        helio_json_put_string(self, "type", field->kind == HELIO_SPEC_F64 ? "number" : "integer");
        bounds(self, field);
        break;
    case HELIO_SPEC_DURATION:
        helio_json_put_string(self, "type", "string");
        helio_json_put_string(self, "pattern",
                              "^(0|(?=[0-9])([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$");
        break;
    case HELIO_SPEC_BYTES:
        helio_json_put_string(self, "type", "string");
        helio_json_put_string(self, "pattern", "^(0|[0-9]+(\\.[0-9]+)? ?(B|[kKMGTP]B|[KMGTP]iB))$");
        break;
    case HELIO_SPEC_MONEY:
    case HELIO_SPEC_QUANTITY:
        quantity_members(self, field);
        break;
    case HELIO_SPEC_TIME:
        helio_json_put_string(self, "type", "string");
        helio_json_put_string(self, "format", "date-time");
        break;
    case HELIO_SPEC_STRINGS:
    case HELIO_SPEC_PAIRS:
    case HELIO_SPEC_LIST:
        collection_members(self, field);
        break;
    case HELIO_SPEC_GROUP:
        members_of_table(self, field->table);
        break;
    case HELIO_SPEC_CUSTOM:
        helio_json_begin_array(self, "allOf");
        helio_json_put_raw(self, NULL, helio_text_of(field->schema ? field->schema : "true"));
        helio_json_end(self);
        break;
    case HELIO_SPEC_CHOICE: /* has words */
    case HELIO_SPEC_INCLUDE:
    case HELIO_SPEC_SKIP:
        break;
    }
}

static void default_member(helio_json_writer_t *self, const helio_spec_field_t *field)
{
    bool raw = field->kind >= HELIO_SPEC_BOOL && field->kind <= HELIO_SPEC_F64;
    if (!field->fallback)
        return;
    if (raw)
        helio_json_put_raw(self, "default", helio_text_of(field->fallback));
    else
        helio_json_put_string(self, "default", field->fallback);
}

static bool write_property(const helio_spec_field_t *field, size_t base, void *context)
{
    helio_json_writer_t *self = context;
    (void)base;
    helio_json_begin_object(self, field->key);
    if (field->doc)
        helio_json_put_string(self, "description", field->doc);
    kind_members(self, field);
    default_member(self, field);
    helio_json_end(self);
    return true;
}

static bool write_required(const helio_spec_field_t *field, size_t base, void *context)
{
    helio_json_writer_t *self = context;
    (void)base;
    if (field->required)
        helio_json_put_string(self, NULL, field->key);
    return true;
}

static bool is_optional(const helio_spec_field_t *field, size_t base, void *context)
{
    (void)base, (void)context;
    return !field->required;
}

static void members_of_table(helio_json_writer_t *self, const helio_spec_table_t *table)
{
    helio_json_put_string(self, "type", "object");
    helio_json_put_bool(self, "additionalProperties", false);
    if (!helio_spec_each(table, 0, is_optional, NULL)) {
        helio_json_begin_array(self, "required");
        (void)helio_spec_each(table, 0, write_required, self);
        helio_json_end(self);
    }
    helio_json_begin_object(self, "properties");
    (void)helio_spec_each(table, 0, write_property, self);
    helio_json_end(self);
}

void helio_spec_schema(const helio_spec_table_t *table, const char *title, helio_buffer_t *out)
{
    helio_json_writer_t self = helio_json_indented_into(out);
    helio_json_begin_object(&self, NULL);
    helio_json_put_string(&self, "$schema", "https://json-schema.org/draft/2020-12/schema");
    helio_json_put_string(&self, "title", title);
    members_of_table(&self, table);
    helio_json_end(&self);
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
