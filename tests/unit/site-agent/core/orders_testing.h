/*  orders_testing.h -- orders given to a site, one by one.
 *
 *  What an order, a stop and a report's acknowledgement do: the promises, one by one.
 */
#ifndef HELIO_TESTS_SITE_AGENT_CORE_ORDERS_TESTING_H
#define HELIO_TESTS_SITE_AGENT_CORE_ORDERS_TESTING_H

#include "harness.h"

static site_t site;

static inline int begin(void **state)
{
    (void)state;
    site_begin(&site);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    site_end(&site);
    return 0;
}

static inline void give_one(uint8_t number, uint32_t epoch, uint32_t nodes, uint32_t gpus)
{
    helio_order_t order = order_of(number, epoch, nodes, gpus);
    give(&site, &order);
}

/*  The last refusal has this cause, and its explanation begins so. */
static inline void assert_refused(uint32_t cause, const char *explanation)
{
    char text[300];
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_REFUSED);
    assert_non_null(report);
    (void)helio_text_copy(report->explanation, text, sizeof text);
    if (report->cause != cause || strncmp(text, explanation, strlen(explanation)) != 0)
        fail_msg("refused with %s '%s', not %s '%s'", helio_cause_name(report->cause), text, helio_cause_name(cause),
                 explanation);
}

#endif
