/* absent.c: a build without libcurl: the cache answers, the network does not. */
#include "hub/http.h"

rmsnorm_status rmsnorm_http_open(const rmsnorm_hub_settings *settings, rmsnorm_http **http)
{
    *http = NULL;
    return rmsnorm_fail(RMSNORM_NOT_BUILT, "%s is not in the cache, and this build has no libcurl to fetch it",
                        settings->name);
}

void rmsnorm_http_close(rmsnorm_http *http)
{
    (void)http;
}

rmsnorm_status rmsnorm_http_ask(rmsnorm_http *http, const rmsnorm_http_request *request, rmsnorm_http_reply *reply)
{
    (void)http;
    (void)reply;
    return rmsnorm_fail(RMSNORM_NOT_BUILT, "%s: this build has no libcurl", request->label);
}
