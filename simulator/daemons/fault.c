/*  fault.c -- the names of the faults. */
#include "simulator/daemons/fault.h"

const char *sim_fault_name(sim_fault_t fault)
{
    static const char *const names[] = {
#define X(name, text) text,
        SIM_FAULT_TABLE(X)
#undef X
    };
    return names[fault];
}

void sim_fault_count(sim_faults_t *self, const sim_engine_t *engine, sim_fault_t fault)
{
    self->counts[fault]++;
    sim_remark(engine, "fault", sim_fault_name(fault));
}
