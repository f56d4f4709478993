/*  scales.h -- which pools of a site grow and shrink, and by which rule: `scale` of a site in the fleet file, in the form of
 *  `agent.scale` of a site file. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_SCALES_H
#define HELIO_SIMULATOR_EXPERIMENT_SCALES_H

#include "federation/spec/reader.h"
#include "simulator/experiment/fleet.h"

/*  Makes pools elastic: those of the rules, and those whose max_nodes is larger than their nodes, by the rule's defaults. */
HELIO_MUST_CHECK helio_rc exp_scales_settle(helio_spec_reader_t *reader, const helio_spec_node_t *node,
                                            exp_fleet_site_t *site);
/*  Of an elastic pool; NULL: it is none. */
const helio_scale_rule_t *exp_scales_rule(const exp_fleet_site_t *site, uint32_t pool);

#endif
