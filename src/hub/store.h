/* store.h: what cache.c, store.c and snapshot.c share. */
#ifndef RMSNORM_HUB_STORE_H
#define RMSNORM_HUB_STORE_H

#include "hub/cache.h"

/* "org/name: WHAT in the cache PATH cannot be VERB: ...", with errno's words. */
rmsnorm_status rmsnorm_cache_fail(const rmsnorm_cache *cache, const char *what, const char *verb);

/* A folder inside another, no link; made when it is not there. -1: errno tells. */
int rmsnorm_cache_enter(int parent, const char *name, bool make);

/* A small file, complete or not at all, in place of what is there. */
rmsnorm_status rmsnorm_store_text(const rmsnorm_cache *cache, int folder, const char *name, const char *text);

/* In a folder, the link to a blob, whose folder is as many steps above; a copy where there are no links. In place of what is there. */
rmsnorm_status rmsnorm_store_link(const rmsnorm_cache *cache, const char *etag, int depth, int folder,
                                  const char *name);

/* Whatever has the name goes, a folder with all that is in it; no link is followed. false: errno tells. */
bool rmsnorm_store_remove(int folder, const char *name);

#endif
