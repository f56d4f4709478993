/*  helio-simulate: policies over a trace (`helio simulate` executes it), and changes on a copy of the live state
 *  (`helio rehearse`). */
#include <string.h>

#include "simulator/experiment/program.h"
#include "simulator/rehearsal/program.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "rehearse") == 0)
        return reh_program(argc - 1, argv + 1, stdout, stderr);
    return exp_program(argc, argv, stdout, stderr);
}
