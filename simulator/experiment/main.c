/*  helio-simulate: policies over a trace. `helio simulate` executes it. */
#include "simulator/experiment/program.h"

int main(int argc, char **argv)
{
    return exp_program(argc, argv, stdout, stderr);
}
