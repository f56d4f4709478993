/*  rules.h -- which texts are names, patterns, identifiers. Internal to federation/spec.
 *
 *  Each rule exists in three forms: as code, as text for messages, and as a pattern for JSON Schema. Tests compare code
 *  and text by examples.
 */
#ifndef HELIO_SPEC_RULES_H
#define HELIO_SPEC_RULES_H

#include "federation/spec/reader.h"

bool helio_spec_has_letter(helio_text_t text);
/*  A MIG profile: 1g.10gb, 1g.10gb+me. */
bool helio_spec_is_mig(helio_text_t text);

extern const helio_spec_rule_t helio_spec_rule_job_name;
extern const helio_spec_rule_t helio_spec_rule_name;     /* queues, sites, regions, pools, GPU models */
extern const helio_spec_rule_t helio_spec_rule_pool_gpu; /* a model, or a MIG slice of one */
extern const helio_spec_rule_t helio_spec_rule_env;
extern const helio_spec_rule_t helio_spec_rule_pattern; /* sites and regions: eu-*, !eu-test */
extern const helio_spec_rule_t helio_spec_rule_backend;
extern const helio_spec_rule_t helio_spec_rule_job_id;
extern const helio_spec_rule_t helio_spec_rule_array_id;
extern const helio_spec_rule_t helio_spec_rule_signal;
extern const helio_spec_rule_t helio_spec_rule_script;
extern const helio_spec_rule_t helio_spec_rule_uri;
extern const helio_spec_rule_t helio_spec_rule_image;
extern const helio_spec_rule_t helio_spec_rule_option; /* names of backend options */
extern const helio_spec_rule_t helio_spec_rule_label;  /* keys of labels */
extern const helio_spec_rule_t helio_spec_rule_label_value;
extern const helio_spec_rule_t helio_spec_rule_gpu; /* for its text: CUSTOM */
extern const helio_spec_rule_t helio_spec_rule_array;

#endif
