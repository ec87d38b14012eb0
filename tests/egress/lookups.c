/* Blocks and logs access of native code to other machines, which Python's audit hooks do not see: every name lookup and
   every connection to another address is written to the file named by GROUNDSET_TEST_EGRESS, and fails as if there were
   no network. Loaded with LD_PRELOAD, also into child processes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void log_host(const char *host)
{
    const char *file = getenv("GROUNDSET_TEST_EGRESS");
    int handle = file ? open(file, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (handle >= 0) {
        dprintf(handle, "%s\n", host);
        close(handle);
    }
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    struct in_addr four;
    struct in6_addr six;
    if (!host || !strcmp(host, "localhost") || inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1)
        return real(host, service, hints, found);
    log_host(host);
    return EAI_NONAME;
}

int connect(int handle, const struct sockaddr *address, socklen_t length)
{
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    char host[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET) {
        const struct in_addr *to = &((const struct sockaddr_in *)address)->sin_addr;
        if (ntohl(to->s_addr) >> 24 != 127)
            inet_ntop(AF_INET, to, host, sizeof host);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *to = &((const struct sockaddr_in6 *)address)->sin6_addr;
        if (!IN6_IS_ADDR_LOOPBACK(to))
            inet_ntop(AF_INET6, to, host, sizeof host);
    }
    if (!*host)
        return real(handle, address, length);
    log_host(host);
    errno = ECONNREFUSED;
    return -1;
}
