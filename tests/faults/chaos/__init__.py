"""The parts of tests/faults/chaos.py: the federation, what its users do, what fails, what truly ran, and the promises."""
