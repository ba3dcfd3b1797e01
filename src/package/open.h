/* open.h: what opening a package and sealing one share. */
#ifndef RMSNORM_PACKAGE_OPEN_H
#define RMSNORM_PACKAGE_OPEN_H

#include "package/folder.h"
#include "package/metadata.h"

/* An empty package whose arena the caller fills with files; then it is checked and parsed, or closed again. */
rmsnorm_status rmsnorm_package_begin(rmsnorm_package **package);
rmsnorm_status rmsnorm_package_finish(rmsnorm_package **package, const rmsnorm_files *files,
                                      rmsnorm_metadata_check *check);

/* Opens a folder's files; change, when it is not NULL, may mend them before they are checked. */
typedef rmsnorm_status rmsnorm_package_change(rmsnorm_arena *arena, const rmsnorm_files *files);
rmsnorm_status rmsnorm_package_from_folder(const char *folder, rmsnorm_package_change *change,
                                           rmsnorm_package **package);

/* Makes id and digest right in the text of metadata.json, which is among the files. */
rmsnorm_status rmsnorm_package_renew(rmsnorm_arena *arena, const rmsnorm_files *files);

#endif
