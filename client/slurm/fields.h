/*  fields.h -- the jobs of the broker as Slurm's commands show jobs: one text for each field. Pure. */
#ifndef HELIO_CLIENT_SLURM_FIELDS_H
#define HELIO_CLIENT_SLURM_FIELDS_H

#include "client/output/output.h"

/*  name as in `sacct --format` and `squeue --Format`, and others that mean the same; letter of `squeue --format` or 0;
 *  title; what it is here */
#define HELIO_SLURM_FIELD_TABLE(X)                                        \
    X(JOB_ID, "JobID,JobArrayID", 'i', "JOBID")                           \
    X(JOB_ID_RAW, "JobIDRaw", 'A', "JOBID")                               \
    X(ARRAY_JOB, "ArrayJobID", 'F', "ARRAY_JOB_ID")                       \
    X(ARRAY_TASK, "ArrayTaskID", 'K', "ARRAY_TASK_ID")                    \
    X(NAME, "JobName,Name", 'j', "NAME")                                  \
    X(USER, "User,UserName", 'u', "USER")                                 \
    X(ACCOUNT, "Account", 'a', "ACCOUNT")       /* the tenant */          \
    X(QOS, "QOS", 'q', "QOS")                   /* the queue */           \
    X(CLUSTER, "Cluster", 0, "CLUSTER")         /* the site */            \
    X(PARTITION, "Partition", 'P', "PARTITION") /* the pool */            \
    X(STATE, "State", 'T', "STATE")                                       \
    X(STATE_SHORT, "StateCompact", 't', "ST")                             \
    X(REASON, "Reason", 'r', "REASON")                                    \
    X(NODE_LIST, "NodeList", 'N', "NODELIST") /* the site and its pool */ \
    X(REASON_LIST, "ReasonList", 'R', "NODELIST(REASON)")                 \
    X(NODES, "NumNodes,NNodes,AllocNodes", 'D', "NODES")                  \
    X(GPUS, "tres-per-node,AllocTRES,ReqTRES", 'b', "TRES_PER_NODE")      \
    X(ELAPSED, "Elapsed,TimeUsed", 'M', "TIME")                           \
    X(ELAPSED_RAW, "ElapsedRaw", 0, "ELAPSED_RAW")                        \
    X(TIME_LIMIT, "TimeLimit", 'l', "TIME_LIMIT")                         \
    X(TIME_LEFT, "TimeLeft", 'L', "TIME_LEFT")                            \
    X(SUBMIT, "Submit,SubmitTime", 'V', "SUBMIT_TIME")                    \
    X(START, "Start,StartTime", 'S', "START_TIME")                        \
    X(END, "End,EndTime", 'e', "END_TIME")                                \
    X(EXIT_CODE, "ExitCode,DerivedExitCode", 0, "EXIT_CODE")              \
    X(PRIORITY, "Priority,PriorityLong", 'Q', "PRIORITY")                 \
    X(RESTARTS, "Restarts,RestartCnt", 0, "RESTARTS")

typedef enum helio_slurm_field {
#define HELIO_SLURM_FIELD_ENUMERATOR(id, ...) HELIO_SLURM_FIELD_##id,
    HELIO_SLURM_FIELD_TABLE(HELIO_SLURM_FIELD_ENUMERATOR)
#undef HELIO_SLURM_FIELD_ENUMERATOR
        HELIO_SLURM_FIELD_COUNT
} helio_slurm_field_t;

/*  HELIO_SLURM_FIELD_COUNT: no such field here. Names: in any case. */
helio_slurm_field_t helio_slurm_field_named(helio_text_t name);
helio_slurm_field_t helio_slurm_field_lettered(char letter);
const char *helio_slurm_field_title(helio_slurm_field_t field);
/*  The first of its names. */
helio_text_t helio_slurm_field_name(helio_slurm_field_t field);

/*  The field of a job, as GET /v1/jobs gives it; times in the zone (NULL = UTC), lengths by the time now. */
void helio_slurm_field_text(const json_t *job, helio_slurm_field_t field, const helio_zone_t *zone, int64_t wall_ms,
                            helio_buffer_t *out);

/*  The same on one line that cannot control a terminal. */
void helio_slurm_field_shown(const json_t *job, helio_slurm_field_t field, const helio_zone_t *zone, int64_t wall_ms,
                             helio_buffer_t *out);

/*  The words of the broker that are one of Slurm's states ("PENDING", "PD", in any case), joined with commas. NULL: Slurm
 *  has no such state. */
const char *helio_slurm_states_of(helio_text_t state);
/*  Slurm's state of a broker's word. */
const char *helio_slurm_state_of_word(const char *word);

#endif
