/* pack.c: copies of the packages in kernels/. */
#include "pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

static void seal(const char *folder)
{
    expect_done(shell("rmsnorm package build %s", folder), (const char *const[]){NULL});
}

static void put(const char *folder, const char *file, const char *text)
{
    char path[256];
    char copy[4200];
    (void)snprintf(path, sizeof path, "%s/build/webgpu/%s", folder, file);
    assert_true(snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy);
    for (char *quote = copy; (quote = strchr(quote, '\'')) != NULL;) {
        *quote = '"';
    }
    write_bytes(path, copy, strlen(copy));
}

void pack_copy(const char *name, const char *to)
{
    char metadata[512];
    expect_done(shell("mkdir -p %s && cp -r '%s/%s/build' %s", to, RMSNORM_KERNELS, name, to),
                (const char *const[]){NULL});
    (void)snprintf(metadata, sizeof metadata,
                   "{'name':'%s','id':'','version':1,'license':'Apache-2.0','backend':{'type':'webgpu'},'digest':{},"
                   "'provenance':{'kernel':{'sha':'none','dirty':true}},"
                   "'webgpu':{'manifestSpec':'rmsnorm-1','specialized':false,'opPath':'op'}}",
                   name);
    put(to, "metadata.json", metadata);
    seal(to);
}

void pack_put(const char *folder, const char *file, const char *text)
{
    put(folder, file, text);
    seal(folder);
}

const char *pack_replaced(const char *text, const char *from, const char *to)
{
    static char result[4096];
    const char *found = strstr(text, from);
    assert_non_null(found);
    assert_null(strstr(found + 1, from));
    (void)snprintf(result, sizeof result, "%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
    return result;
}
