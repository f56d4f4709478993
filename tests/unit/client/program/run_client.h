/*  run_client.h -- one command line of helio in the test's own process, with its streams in memory. */
#ifndef HELIO_TESTS_RUN_CLIENT_H
#define HELIO_TESTS_RUN_CLIENT_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/program/program.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/*  Ctrl-C as the client sees it. */
typedef struct presses {
    const volatile sig_atomic_t *count; /* NULL = none ever */
    int fd;                             /* -1 = none */
} presses_t;
#define NO_PRESSES ((presses_t){NULL, -1})

/*  words: at most 22, without the program's name. environment: ends with NULL. *ret_* are the caller's to free. */
static inline int run_client(const char *const *words, const char *input, char *const *environment, presses_t presses,
                             char **ret_out, char **ret_err)
{
    char *argv[24] = {(char *)(uintptr_t) "helio"};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    size_t out_size, err_size;
    FILE *in = input[0] ? fmemopen((char *)(uintptr_t)input, strlen(input), "r") : fopen("/dev/null", "r");
    FILE *out = open_memstream(ret_out, &out_size), *err = open_memstream(ret_err, &err_size);
    helio_client_io_t io = {.in = in,
                            .out = out,
                            .err = err,
                            .environment = environment,
                            .interrupts = presses.count,
                            .interrupt_fd = presses.fd,
                            .patience_ms = 2};
    int code = helio_client_main(argc, argv, &io);
    fclose(in);
    fclose(out);
    fclose(err);
    return code;
}

#endif
