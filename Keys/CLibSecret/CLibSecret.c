#include "CLibSecret.h"

#include <dlfcn.h>
#include <stddef.h>

static struct {
#define PLACE(type, name, parameters, arguments) type(*name) parameters;
    LIBSECRET_FUNCTIONS(PLACE)
} loaded;

const char *clibsecret_load(void) {
    // Never closed: GLib can't be unloaded.
    void *library = dlopen("libsecret-1.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return dlerror();
    // dlsym also searches the libraries that this one needs: GIO, GObject, GLib.
#define FIND(type, name, parameters, arguments) \
    loaded.name = (type(*) parameters)dlsym(library, #name); \
    if (loaded.name == NULL) return dlerror();
    LIBSECRET_FUNCTIONS(FIND)
    return NULL;
}

#define CALL(type, name, parameters, arguments) \
    type name parameters { return loaded.name arguments; }
LIBSECRET_FUNCTIONS(CALL)
