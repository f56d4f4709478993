/*  state.h -- what a Job, its pods and its Workload say about an attempt: docs/decisions/0010-kubernetes.md as a function.
 *  Pure.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_STATE_H
#define HELIO_BACKENDS_KUBERNETES_STATE_H

#include <jansson.h>

#include "federation/reason/codes.h"
#include "site-agent/core/agent_core.h"

enum { HELIO_KUBE_WHY_SIZE = 256, HELIO_KUBE_IMAGE_PATIENCE_MS = 5 * 60 * 1000 };

/*  What the verdict is based on; all of it from one list, or later. */
typedef struct helio_kube_sight {
    const json_t *job;      /* NULL: it does not exist, by a consistent answer */
    const json_t *pods;     /* its pods, as a list; NULL = none */
    const json_t *workload; /* Kueue's; NULL = none */
    helio_text_t creation;  /* the message of the last FailedCreate of the Job; "" = none */
    uint32_t nodes;         /* of the attempt: so many pods must begin */
    uint64_t time_limit_ms; /* 0 = none */
    bool begun;             /* STARTED was reported */
    bool known;             /* the Job was seen before */
    bool deleted;           /* we deleted it */
    int64_t server_wall_ms; /* the API's time */
    int64_t image_since_ms; /* since when no image can be had, by the API's time; 0 = that is not so */
} helio_kube_sight_t;

typedef enum helio_kube_verdict_kind {
    HELIO_KUBE_KEEP,   /* nothing new */
    HELIO_KUBE_REPORT, /* the event below */
    HELIO_KUBE_GIVE_UP /* delete the Job, and report the event when nothing of it runs any more */
} helio_kube_verdict_kind_t;

typedef struct helio_kube_verdict {
    helio_kube_verdict_kind_t kind;
    helio_backend_report_t word;
    helio_cause_t cause;
    int32_t exit_code;
    bool stopped, limit_reached;
    int64_t started_wall_ms, ended_wall_ms; /* 0 = unknown; when the first and the last container ended */
    bool image_waits;                       /* a container waits for its image: image_since_ms of the next look */
    char why[HELIO_KUBE_WHY_SIZE];          /* the cluster's words */
} helio_kube_verdict_t;

void helio_kube_look(const helio_kube_sight_t *sight, helio_kube_verdict_t *ret_verdict);

#endif
