/*  remote_wait.c -- waits for transfers, and for what else is to be waited for. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/transport/remote_internal.h"

long helio_stream_status(const helio_stream_t *self)
{
    long status = 0;
    (void)curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

bool helio_transfer_is_away(const helio_stream_t *transfer)
{
    long status = helio_stream_status(transfer);
    if (transfer->result == CURLE_OK)
        return status == 502 || status == 503 || status == 504;
    return transfer->result != CURLE_WRITE_ERROR;
}

void helio_transfer_change_broker(helio_remote_t *self, const helio_stream_t *transfer)
{
    if (transfer->broker == self->current && helio_transfer_is_away(transfer))
        self->current = (self->current + 1) % self->brokers.count;
}

/*  True when a transfer has ended: its owner should check before waiting. */
static bool harvest(helio_remote_t *self)
{
    int left;
    bool any = false;
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE)
            continue;
        helio_stream_t *transfer = NULL;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        transfer->result = message->data.result;
        transfer->over = any = true;
        helio_transfer_change_broker(self, transfer);
    }
    return any;
}

/*  curl_multi_poll tells nothing of a descriptor whose other end hung up: what is ready is asked again. */
void helio_remote_pump_with(helio_remote_t *self, uint32_t timeout_ms, struct pollfd *fds, uint32_t count)
{
    int running = 0;
    struct curl_waitfd *extra = helio_new(count + 1, sizeof *extra);
    unsigned extras = 0;
    for (uint32_t i = 0; i < count; i++)
        if (fds[i].fd >= 0)
            extra[extras++] =
                (struct curl_waitfd){.fd = fds[i].fd,
                                     .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                                                       (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0))};
    unsigned interrupt = extras;
    if (self->io->interrupt_fd >= 0)
        extra[extras++] = (struct curl_waitfd){.fd = self->io->interrupt_fd, .events = CURL_WAIT_POLLIN};
    (void)curl_multi_perform(self->multi, &running);
    if (!harvest(self)) { /* else the reply is complete already: nothing else would end the wait */
        (void)curl_multi_poll(self->multi, extra, extras, (int)timeout_ms, NULL);
        if (extras > interrupt && extra[interrupt].revents) {
            char bytes[64];
            while (read(extra[interrupt].fd, bytes, sizeof bytes) == sizeof bytes)
                continue;
        }
        (void)curl_multi_perform(self->multi, &running);
        (void)harvest(self);
    }
    free(extra);
    if (count)
        (void)poll(fds, count, 0);
}

void helio_remote_pump(helio_remote_t *self, uint32_t timeout_ms)
{
    helio_remote_pump_with(self, timeout_ms, NULL, 0);
}
