/*  hostile_site.c -- a peer with an enrolled key that means harm, for tests/security/sites.py: it sends the messages of
 *  tests/golden/wire in any order, whole, cut, with other bytes, several times or grown, as fast as they go. It dials
 *  again whenever the broker hangs up.
 *
 *      peer-hostile-site ENDPOINT BROKER_KEY KEY_FILE SECONDS SEED HEX_FILE...
 *
 *  It prints how many frames it sent and how often it was connected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/rng.h"
#include "federation/net/curve.h"
#include "federation/net/dialer.h"

enum { FRAMES_MAX = 100, LINE_SIZE = 1 << 16, BURST = 200, GROWN_BYTES = 1 << 20 };

typedef struct hostile {
    helio_buffer_t frames[FRAMES_MAX];
    uint32_t count;
    helio_rng_t rng;
    uint64_t sent, connections;
} hostile_t;

static void read_frame(hostile_t *self, const char *path)
{
    static char line[LINE_SIZE];
    FILE *file = fopen(path, "re");
    if (!file || self->count == FRAMES_MAX) {
        (void)fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    helio_buffer_t *frame = &self->frames[self->count++];
    while (fgets(line, sizeof line, file))
        for (const char *at = line; *line != '#' && at[0] && at[1]; at += 2) {
            unsigned byte;
            if (sscanf(at, "%2x", &byte) != 1)
                break;
            helio_buffer_append(frame, &(char){(char)byte}, 1);
        }
    (void)fclose(file);
}

/*  One message as nobody should send it. */
static void spoil(hostile_t *self, helio_buffer_t *frame)
{
    uint64_t how = helio_rng_below(&self->rng, 6);
    if (how == 0)
        frame->size = helio_rng_below(&self->rng, frame->size) + 1;
    for (uint64_t flips = how < 3 ? how * 4 : 0; flips; flips--)
        frame->data[helio_rng_below(&self->rng, frame->size)] = (char)helio_rng_next(&self->rng);
    if (how == 3)
        helio_rng_bytes(&self->rng, (uint8_t *)frame->data, frame->size);
    if (how == 4 && helio_rng_below(&self->rng, 50) == 0)
        while (frame->size < GROWN_BYTES)
            helio_buffer_append(frame, "\xdd\xff\xff\xff\xff", 5); /* an array without an end */
}

static void harm(hostile_t *self, helio_dialer_t *dialer)
{
    for (uint32_t i = 0; i < BURST; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        const helio_buffer_t *good = &self->frames[helio_rng_below(&self->rng, self->count)];
        helio_buffer_append(&frame, good->data, good->size);
        spoil(self, &frame);
        if (helio_dialer_send(dialer, helio_buffer_view(&frame)) != HELIO_OK)
            return;
        self->sent++;
    }
}

static void on_connected(void *arg, const char *endpoint)
{
    (void)endpoint;
    ((hostile_t *)arg)->connections++;
}

static void on_message(void *arg, helio_text_t frame)
{
    (void)arg;
    (void)frame;
}

int main(int argc, char **argv)
{
    static hostile_t self;
    helio_error_t err = {0};
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    if (argc < 7 || helio_keypair_load(argv[3], &pair, &err) != HELIO_OK) {
        (void)fprintf(stderr, "usage: peer-hostile-site ENDPOINT BROKER_KEY KEY_FILE SECONDS SEED HEX_FILE...\n%s\n",
                      err.text);
        return 2;
    }
    self.rng.state = strtoull(argv[5], NULL, 10);
    for (int i = 6; i < argc; i++)
        read_frame(&self, argv[i]);
    helio_net_t *net;
    helio_loop_t *loop;
    helio_dialer_t *dialer;
    helio_dialer_target_t target = {argv[1], argv[2]};
    helio_dialer_options_t options = {.targets = &target,
                                      .target_count = 1,
                                      .secret_key = pair.secret_key,
                                      .frame_max_bytes = 4 * GROWN_BYTES,
                                      .backoff_min_ms = 20,
                                      .backoff_max_ms = 100,
                                      .on_message = on_message,
                                      .on_connected = on_connected,
                                      .arg = &self};
    if (helio_net_new(0, &net, &err) != HELIO_OK || helio_loop_new(&loop, &err) != HELIO_OK ||
        helio_dialer_new(net, loop, &options, &dialer, &err) != HELIO_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (int64_t until_ms = helio_clock_boot_ms() + 1000 * atoll(argv[4]); helio_clock_boot_ms() < until_ms;) {
        if (helio_loop_turn(loop, 2, &err) != HELIO_OK)
            return 2;
        if (helio_dialer_is_connected(dialer))
            harm(&self, dialer);
    }
    (void)printf("%llu %llu\n", (unsigned long long)self.sent, (unsigned long long)self.connections);
    return 0;
}
