/* Answers requests for a service with what they bring in capitals, or asks for that:
 *
 *   talk SOCKET serve SERVICE COUNT
 *   talk SOCKET ask ADDRESS:PORT SERVICE TEXT
 */
#include <ctype.h>
#include <pullnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, pullnet_error());
    return 1;
}

/* Sends back what a stream brings, as it comes. */
static int answer(pullnet_stream *stream)
{
    char bytes[4096];
    ptrdiff_t got;

    while ((got = pullnet_read(stream, bytes, sizeof bytes, 30 * SECOND)) > 0) {
        for (ptrdiff_t at = 0; at < got; at++)
            bytes[at] = (char)toupper((unsigned char)bytes[at]);
        for (ptrdiff_t sent = 0; sent < got;) {
            ptrdiff_t more = pullnet_write(stream, bytes + sent, (size_t)(got - sent), false, 30 * SECOND);
            if (more < 0)
                return failed("write");
            sent += more;
        }
    }
    if (got < 0)
        return failed("read");
    return pullnet_shutdown(stream) < 0 ? failed("shutdown") : 0;
}

static int serve(pullnet_host *host, uint16_t service, long count)
{
    pullnet_listener *listener;
    int status = 0;

    if (pullnet_listen(host, service, &listener) < 0)
        return failed("listen");
    printf("serves\n");
    fflush(stdout);
    while (status == 0 && count-- > 0) {
        pullnet_stream *stream;
        if (pullnet_accept(listener, 30 * SECOND, &stream) < 0) {
            status = failed("accept");
            break;
        }
        status = answer(stream);
        pullnet_close(stream);
    }
    pullnet_listener_close(listener);
    return status;
}

static int ask(pullnet_host *host, const char *to, uint16_t service, const char *text)
{
    uint8_t *response;
    size_t size;

    if (pullnet_call(host, to, service, text, strlen(text), 0, 30 * SECOND, &response, &size) < 0)
        return failed("call");
    printf("%.*s\n", (int)size, (const char *)response);
    pullnet_free(response, size);
    return 0;
}

int main(int count, char **words)
{
    pullnet_host *host;
    int status = 2;

    if (count < 5) {
        fprintf(stderr, "usage: %s SOCKET serve SERVICE COUNT | ask ADDRESS:PORT SERVICE TEXT\n", words[0]);
        return status;
    }
    if (pullnet_open(words[1], &host) < 0)
        return failed("open");
    if (strcmp(words[2], "serve") == 0)
        status = serve(host, (uint16_t)atoi(words[3]), atol(words[4]));
    else if (count == 6)
        status = ask(host, words[3], (uint16_t)atoi(words[4]), words[5]);
    pullnet_host_close(host);
    return status;
}
