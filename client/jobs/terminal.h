/*  terminal.h -- the user's terminal while it belongs to a command at a site: raw, with its size, and given back as it was
 *  on every way out. Signals that would end the program come as bytes of a descriptor meanwhile, so that it can. */
#ifndef HELIO_CLIENT_TERMINAL_H
#define HELIO_CLIENT_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

typedef struct helio_terminal {
    int fd;        /* -1 = there is none */
    int signal_fd; /* readable: the size has changed, or the program shall end */
    sigset_t before;
    struct termios saved;
    bool is_raw;
} helio_terminal_t;

/*  Takes the signals. fd: the terminal's; -1 = none. Every begin needs an end. */
void helio_terminal_begin(helio_terminal_t *self, int fd);
void helio_terminal_end(helio_terminal_t *self);
/*  Raw: keys come one by one, and mean nothing here. False: it is no terminal. */
bool helio_terminal_make_raw(helio_terminal_t *self);
void helio_terminal_give_back(helio_terminal_t *self);
/*  False: it has none. */
bool helio_terminal_size(const helio_terminal_t *self, uint32_t *ret_rows, uint32_t *ret_columns);
/*  What came on signal_fd: the number of the signal that ends the program; 0 = none. *ret_resized: the size changed. */
int helio_terminal_signals(helio_terminal_t *self, bool *ret_resized);

#endif
