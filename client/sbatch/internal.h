/*  internal.h -- the state of one conversion. Internal to client/sbatch. */
#ifndef HELIO_SBATCH_INTERNAL_H
#define HELIO_SBATCH_INTERNAL_H

#include "client/sbatch/sbatch.h"
#include "federation/spec/reader.h"

enum {
    SBATCH_NOTES_MAX = 32,
    SBATCH_WORDS_MAX = 4096,
    SBATCH_EXTRAS_MAX = 16,
    SBATCH_GPUS_PER_NODE_MAX = HELIO_JOB_GPUS_PER_NODE_MAX
};

/*  Later sources override earlier ones. */
typedef enum sbatch_level { SBATCH_SCRIPT, SBATCH_VARIABLE, SBATCH_LINE } sbatch_level_t;

typedef struct sbatch_word {
    const char *text;
    size_t offset, end; /* SCRIPT: bytes of the script */
} sbatch_word_t;

typedef struct sbatch_value {
    const char *text; /* NULL = not given; "" for a switch */
    sbatch_level_t level;
    size_t offset, end; /* SCRIPT: offset of the value, or of the switch */
    uint32_t id;
} sbatch_value_t;

/*  An option that sbatch did not know when this was written. */
typedef struct sbatch_extra {
    const char *name;
    sbatch_value_t value;
    const char *message, *hint; /* the message if it cannot be sent */
} sbatch_extra_t;

/*  Resources, after all options that determine them. 0 = not given. */
typedef struct sbatch_shape {
    uint32_t nodes; /* at least 1 */
    uint32_t tasks_per_node;
    uint32_t cpus; /* per node */
    uint32_t gpus; /* per node */
    uint32_t gpus_per_task;
    const char *gpu_model; /* "" = any */
    uint64_t memory_bytes; /* per node */
} sbatch_shape_t;

/*  What #HELIO lines say. */
typedef struct sbatch_own {
    const helio_spec_node_t *root; /* NULL = no such line */
    helio_job_spec_t spec;         /* only of keys that are present */
} sbatch_own_t;

typedef struct sbatch {
    const helio_sbatch_input_t *input;
    helio_arena_t *arena;
    helio_spec_reader_t reader; /* reports errors at bytes of the script */
    helio_diagnostic_t *diagnostic;
    size_t header_end; /* offset of the first line that is neither blank nor a comment */
    sbatch_value_t values[HELIO_SBATCH_COUNT];
    sbatch_extra_t extras[SBATCH_EXTRAS_MAX];
    uint32_t extra_count;
    sbatch_own_t own;
    sbatch_shape_t shape;
    bool pinned;        /* to Slurm sites */
    bool pinned_by_own; /* by a #HELIO line */
    bool singleton;
    const char *notes[SBATCH_NOTES_MAX];
    uint32_t note_count;
} sbatch_t;

/*  Reports an error at the place of the value: in the script with a caret, otherwise by the name of its source. */
helio_rc sbatch_refuse(sbatch_t *self, const sbatch_value_t *value, const char *hint, const char *format, ...)
    HELIO_PRINTF(4, 5);
void sbatch_note(sbatch_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
static inline const sbatch_value_t *sbatch_given(const sbatch_t *self, uint32_t id)
{
    return self->values[id].text ? &self->values[id] : NULL;
}

/*  words.c: options out of the script's header, the environment and the command line. */
helio_rc sbatch_read_header(sbatch_t *self);
helio_rc sbatch_read_environment(sbatch_t *self);
helio_rc sbatch_read_line(sbatch_t *self);
const char *sbatch_variable(const helio_sbatch_input_t *input, helio_text_t name); /* NULL = not in the environment */
/*  The offset at which the header ends. */
size_t sbatch_header_end(helio_text_t script);
/*  The script's line at `at`; *ret_next is the offset of the one after it. */
helio_text_t sbatch_line_at(helio_text_t script, size_t at, size_t *ret_next);

/*  helio_lines.c: #HELIO lines. */
helio_rc sbatch_read_own(sbatch_t *self);
const helio_spec_node_t *sbatch_own_key(const sbatch_t *self, const char *key);

/*  values.c: grammars. False: malformed. */
bool sbatch_time(const char *text, uint64_t *ret_ms, bool *ret_endless);
bool sbatch_memory(const char *text, uint64_t *ret_bytes);
bool sbatch_count(const char *text, uint64_t most, uint32_t *ret_count);
bool sbatch_nodes(const char *text, uint32_t *ret_least, bool *ret_range);
/*  "8", "h100:8", "h100": one kind of GPU; *ret_model is "" for any kind, otherwise in capitals. */
bool sbatch_gpus(const char *text, helio_arena_t *arena, const char **ret_model, uint32_t *ret_count);
/*  "USR1", "SIGUSR1", "10", with [B:] or [R:] before and @seconds after it. */
bool sbatch_signal(const char *text, const char **ret_name, uint32_t *ret_seconds);

/*  begin.c: "now+1hour", "16:00", "tomorrow", "2026-11-22T07:00". */
bool sbatch_begin(const helio_sbatch_input_t *input, const char *text, int64_t *ret_wall_ms);

/*  shape.c */
helio_rc sbatch_resolve_shape(sbatch_t *self);

/*  export.c: calls fn for every variable that travels. */
typedef void sbatch_variable_fn(void *arg, const char *name, const char *value);
helio_rc sbatch_export(sbatch_t *self, sbatch_variable_fn *fn, void *arg);

/*  lists.c: unchanged if not given. The lists are YAML: after_ok, after_any, after_not_ok, after_start, after_task. */
enum { SBATCH_AFTERS = 5 };
helio_rc sbatch_array(sbatch_t *self, const char **ret_array);
helio_rc sbatch_dependencies(sbatch_t *self, const char *ret_lists[SBATCH_AFTERS]);

/*  body.c: the script's commands. */
bool sbatch_calls_slurm(helio_text_t body); /* srun, sbcast, scontrol */
helio_rc sbatch_compose_run(sbatch_t *self, helio_buffer_t *out);

/*  emit.c: YAML. */
void sbatch_yaml_text(helio_text_t text, bool in_flow, helio_buffer_t *out);
void sbatch_yaml_node(const helio_spec_node_t *node, bool in_flow, helio_buffer_t *out);
void sbatch_yaml_script(helio_text_t script, helio_buffer_t *out);

/*  job.c: the keys of the job file. */
helio_rc sbatch_write_job(sbatch_t *self, helio_buffer_t *out);

#endif
