/*  inner.h -- how the readers of listing.h take texts apart. Nothing here copies: parts are views. */
#ifndef HELIO_BACKENDS_SLURM_LISTING_INNER_H
#define HELIO_BACKENDS_SLURM_LISTING_INNER_H

#include "site-agent/backends/slurm/listing/listing.h"

/*  INVALID, with the first bytes of what could not be read, printable. */
helio_rc helio_slurm_bad(helio_error_t *err, const char *list, uint32_t number, helio_text_t record);

/*  The next line without its end; false when there is none, or when it is not ended: then text was cut off,
 * and *rest is left as it is. */
bool helio_slurm_line(helio_text_t *rest, helio_text_t *ret_line);
uint32_t helio_slurm_line_count(helio_text_t text);

/*  What stands before the next separator, which is passed over; without one it is all the rest, and false. */
bool helio_slurm_cut(helio_text_t *rest, char separator, helio_text_t *ret_part);

bool helio_slurm_starts(helio_text_t text, const char *prefix);
helio_text_t helio_slurm_skip(helio_text_t text, uint32_t bytes);
helio_text_t helio_slurm_trim(helio_text_t text); /* of blanks at its end */
/*  "" for the words that Slurm has for nothing: N/A, None, Unknown, (null), … */
helio_text_t helio_slurm_known(helio_text_t text);

bool helio_slurm_u32(helio_text_t text, uint32_t *ret_value);
bool helio_slurm_u64(helio_text_t text, uint64_t *ret_value);
/*  Seconds since 1970; a word for nothing is 0. */
bool helio_slurm_time(helio_text_t text, int64_t *ret_s);
/*  "MM:SS", "HH:MM:SS", "D-HH:MM:SS"; UNLIMITED and the like are 0. */
bool helio_slurm_duration(helio_text_t text, uint64_t *ret_ms);
/*  "3:0", "0:15" */
bool helio_slurm_exit(helio_text_t text, uint32_t *ret_code, uint32_t *ret_signal);
/*  One word of squeue or sacct; several, as "COMPLETED,COMPLETING": the last that is known, since flags go
 * before the base. What is not known is OTHER. */
helio_slurm_state_t helio_slurm_state_of(helio_text_t word);

/*  "Key=value Key=value …", as `scontrol --oneliner show` writes it. values[i] becomes what keys[i] (NULL at
 * the end) has at its first occurrence; bit i of the result says that it occurs. ends: keys that free text
 * follows; reading stops there, and *ret_tail (may be NULL) is the line from that key on. */
uint32_t helio_slurm_fields(helio_text_t line, const char *const *keys, const char *const *ends,
                            helio_text_t *ret_values, helio_text_t *ret_tail);
/*  Bit `key` of what it returned. */
static inline bool has(uint32_t seen, uint32_t key)
{
    return seen & (UINT32_C(1) << key);
}

/*  ---- GPUs in Slurm's words ---- */

/*  A slice of a GPU ("a100_1g.5gb"), which Slurm lists as a GPU too. */
bool helio_slurm_is_slice(helio_text_t type);

/*  Of a node: Gres=, and then GresUsed=. False: not a list of GRES. */
bool helio_slurm_gres_there(helio_text_t gres, helio_slurm_node_t *node);
bool helio_slurm_gres_used(helio_text_t used, helio_slurm_node_t *node);

/*  What is asked in "gres:gpu:h100:2,gres:nvme:1" (or gres/gpu:2, gpu:2, gres/gpu=2). */
typedef struct helio_slurm_ask {
    uint32_t gpus;
    helio_text_t type; /* "" = any, or several */
    bool slices;       /* slices are asked for too */
} helio_slurm_ask_t;
helio_slurm_ask_t helio_slurm_gpus_asked(helio_text_t tres);
/*  The count of one resource in "cpu=64,mem=500G,gres/gpu=8"; 0 when it is not there. */
uint32_t helio_slurm_tres_count(helio_text_t tres, const char *name);

#endif
