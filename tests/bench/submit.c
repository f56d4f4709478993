/*  submit.c -- submits jobs over HTTP as fast as the broker answers: every answered job is durable.
 *      bench_submit PORT TOKEN CONNECTIONS JOBS_PER_CALL SECONDS|=TOTAL_JOBS
 *  Prints jobs per second and the p50 and p99 of a call in ms. All documents differ, as in a real sweep: each has a
 *  name and a script of its own, numbered over all connections and calls. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "federation/base/memory.h"

enum {
    THREADS_MAX = 256,
    LATENCIES_MAX = 200000,
    SERIAL_DIGITS = 10,
    RUN_SIZE = 240 /* of the script without its number */
};

static const char before_name[] = "{\"name\": \"";
static const char before_run[] = "\", \"gpu\": \"H100:1\", \"nodes\": 1, \"time\": \"10m\", \"env\": "
                                 "{\"LR\": \"1e-4\", \"BATCH\": \"256\"}, "
                                 "\"placement\": {\"goal\": \"balanced\"}, \"run\": \"";
static const char after_run[] = "\"}\n";

typedef struct work {
    int port;
    helio_buffer_t request;
    size_t body;    /* offset of the first document */
    uint64_t first; /* number of this connection's first document */
    uint64_t per_call;
    int64_t until_ms;
    uint64_t calls_max;
    uint64_t calls;
    double *latencies;
    pthread_t thread;
} work_t;

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
        perror("bench_submit: connect");
        exit(1);
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_all(int fd, helio_text_t text)
{
    for (size_t sent = 0; sent < text.size;) {
        ssize_t n = send(fd, text.data + sent, text.size - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            perror("bench_submit: send");
            exit(1);
        }
        sent += (size_t)n;
    }
}

/*  One response with a Content-Length; any status but 201 ends the program. */
static void receive(int fd)
{
    static _Thread_local char buffer[1 << 20];
    size_t have = 0, want = SIZE_MAX;
    while (have < want) {
        ssize_t n = recv(fd, buffer + have, sizeof buffer - 1 - have, 0);
        if (n <= 0) {
            fprintf(stderr, "bench_submit: the connection ended\n");
            exit(1);
        }
        have += (size_t)n;
        buffer[have] = '\0';
        const char *body = strstr(buffer, "\r\n\r\n");
        if (want == SIZE_MAX && body) {
            const char *length = strcasestr(buffer, "content-length:");
            want = (size_t)(body + 4 - buffer) + (length ? strtoul(length + 15, NULL, 10) : 0);
        }
    }
    if (strncmp(buffer + 9, "201", 3) != 0) {
        fprintf(stderr, "bench_submit: %.400s\n", buffer);
        exit(1);
    }
}

static void put_serial(char *at, uint64_t serial)
{
    for (int i = SERIAL_DIGITS - 1; i >= 0; i--, serial /= 10)
        at[i] = (char)('0' + serial % 10);
}

/*  Changes the documents of the request into new ones of the same size. */
static void number(work_t *work)
{
    size_t size = sizeof before_name - 1 + sizeof before_run - 1 + sizeof after_run - 1 + 2 * SERIAL_DIGITS + RUN_SIZE;
    char *document = work->request.data + work->body;
    for (uint64_t i = 0; i < work->per_call; i++, document += size) {
        uint64_t serial = work->first + work->calls * work->per_call + i;
        put_serial(document + sizeof before_name - 1, serial);
        put_serial(document + sizeof before_name - 1 + SERIAL_DIGITS + sizeof before_run - 1, serial);
    }
}

static void *run(void *arg)
{
    work_t *work = arg;
    int fd = dial(work->port);
    while (work->calls < work->calls_max && helio_clock_boot_ms() < work->until_ms) {
        number(work);
        int64_t began = helio_clock_boot_us();
        send_all(fd, helio_buffer_view(&work->request));
        receive(fd);
        if (work->calls < LATENCIES_MAX)
            work->latencies[work->calls] = (double)(helio_clock_boot_us() - began) / 1000;
        work->calls++;
    }
    (void)close(fd);
    return NULL;
}

static void make_request(work_t *work, const char *token)
{
    helio_buffer_t body = {0};
    for (uint64_t i = 0; i < work->per_call; i++)
        helio_buffer_printf(&body, "%s%0*d%s%0*d%0*d%s", before_name, SERIAL_DIGITS, 0, before_run, SERIAL_DIGITS, 0,
                            RUN_SIZE, 7, after_run);
    helio_buffer_printf(&work->request,
                        "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                        "Content-Type: application/x-ndjson\r\nContent-Length: %zu\r\n\r\n",
                        token, body.size);
    work->body = work->request.size;
    helio_buffer_append(&work->request, body.data, body.size);
    helio_buffer_clear(&body);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: bench_submit PORT TOKEN CONNECTIONS JOBS_PER_CALL SECONDS|=TOTAL_JOBS\n");
        return 2;
    }
    uint64_t threads = strtoull(argv[3], NULL, 10), per_call = strtoull(argv[4], NULL, 10);
    bool total = argv[5][0] == '=';
    uint64_t calls = total ? strtoull(argv[5] + 1, NULL, 10) / per_call / threads : UINT64_MAX;
    static work_t works[THREADS_MAX];
    int64_t began = helio_clock_boot_ms();
    for (uint64_t i = 0; i < threads && i < THREADS_MAX; i++) {
        works[i] = (work_t){.port = (int)strtol(argv[1], NULL, 10),
                            .per_call = per_call,
                            .first = i * 100000000,
                            .until_ms = total ? INT64_MAX : began + strtoll(argv[5], NULL, 10) * 1000,
                            .calls_max = calls,
                            .latencies = helio_new(LATENCIES_MAX, sizeof(double))};
        make_request(&works[i], argv[2]);
        if (pthread_create(&works[i].thread, NULL, run, &works[i]))
            return 1;
    }
    double *all = helio_new(LATENCIES_MAX * 4, sizeof *all);
    uint64_t count = 0, done = 0;
    for (uint64_t i = 0; i < threads && i < THREADS_MAX; i++) {
        (void)pthread_join(works[i].thread, NULL);
        done += works[i].calls;
        for (uint64_t k = 0; k < works[i].calls && k < LATENCIES_MAX && count < LATENCIES_MAX * 4; k++)
            all[count++] = works[i].latencies[k];
        free(works[i].latencies);
        helio_buffer_clear(&works[i].request);
    }
    double seconds = (double)(helio_clock_boot_ms() - began) / 1000;
    qsort(all, count, sizeof *all, by_value);
    printf("%.0f %.2f %.2f\n", (double)(done * per_call) / seconds, count ? all[count / 2] : 0,
           count ? all[count * 99 / 100] : 0);
    free(all);
    return 0;
}
