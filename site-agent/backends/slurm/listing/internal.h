/*  internal.h -- how the readers of listing.h split texts. Nothing here copies: parts are views. */
#ifndef HELIO_BACKENDS_SLURM_LISTING_INTERNAL_H
#define HELIO_BACKENDS_SLURM_LISTING_INTERNAL_H

#include "site-agent/backends/slurm/listing/listing.h"

/*  INVALID, with the first printable bytes of the text that could not be read. */
helio_rc helio_slurm_refuse(helio_error_t *err, const char *list, uint32_t number, helio_text_t record);

/*  The next line without its end. False when none is left, or when the last has no line break: then the text was cut
 *  off, and *rest is unchanged. */
bool helio_slurm_line(helio_text_t *rest, helio_text_t *ret_line);
uint32_t helio_slurm_line_count(helio_text_t text);

/*  The text before the next separator, which is skipped. Without a separator it is the whole rest, and the result is
 *  false. */
bool helio_slurm_cut(helio_text_t *rest, char separator, helio_text_t *ret_part);

bool helio_slurm_starts(helio_text_t text, const char *prefix);
helio_text_t helio_slurm_skip(helio_text_t text, uint32_t bytes);
helio_text_t helio_slurm_trim(helio_text_t text); /* blanks at its end */
/*  "" for Slurm's words for "none": N/A, None, Unknown, (null), … */
helio_text_t helio_slurm_or_empty(helio_text_t text);

bool helio_slurm_u32(helio_text_t text, uint32_t *ret_value);
bool helio_slurm_u64(helio_text_t text, uint64_t *ret_value);
/*  Seconds since 1970; 0 for a word for "none". */
bool helio_slurm_time(helio_text_t text, int64_t *ret_s);
/*  "MM:SS", "HH:MM:SS", "D-HH:MM:SS"; UNLIMITED and the like are 0. */
bool helio_slurm_duration(helio_text_t text, uint64_t *ret_ms);
/*  "3:0", "0:15" */
bool helio_slurm_exit(helio_text_t text, uint32_t *ret_code, uint32_t *ret_signal);
/*  The state in a column of squeue or sacct. A column can hold several words ("COMPLETED,COMPLETING"); the last word
 *  that listing.h knows is the result. OTHER: it knows none of them. */
helio_slurm_state_t helio_slurm_state_of(helio_text_t word);

/*  "Key=value Key=value …", as `scontrol --oneliner show` writes it. values[i] becomes the value of keys[i]
 *  (NULL-terminated) at its first occurrence; bit i of the result says that it occurs. ends: keys that are followed by
 *  free text; reading stops there, and *ret_tail (can be NULL) is the line from that key on. */
uint32_t helio_slurm_fields(helio_text_t line, const char *const *keys, const char *const *ends,
                            helio_text_t *ret_values, helio_text_t *ret_tail);
/*  Bit `key` of that result. */
static inline bool helio_slurm_has_field(uint32_t seen, uint32_t key)
{
    return seen & (UINT32_C(1) << key);
}

/*  ---- GPUs as Slurm writes them ---- */

/*  Adds the GPUs that a node has (Gres=, called first), and how many of them are in use (GresUsed=). False: the text is
 *  not a list of GRES. */
bool helio_slurm_gres_there(helio_text_t gres, helio_slurm_node_t *node);
bool helio_slurm_gres_used(helio_text_t used, helio_slurm_node_t *node);

/*  The request in "gres:gpu:h100:2,gres:nvme:1" (or gres/gpu:2, gpu:2, gres/gpu=2). */
typedef struct helio_slurm_ask {
    uint32_t gpus;
    helio_text_t type; /* "" = any, or several */
    bool parts;        /* the request is of slices or shares, or includes some, which do not count then */
} helio_slurm_ask_t;
helio_slurm_ask_t helio_slurm_gpus_asked(helio_text_t tres);
/*  The count of one resource in "cpu=64,mem=500G,gres/gpu=8"; 0 if it is missing. */
uint32_t helio_slurm_tres_count(helio_text_t tres, const char *name);

#endif
