// The part of libsecret, and of the GLib beneath it, that SecretService calls.
//
// Declared here instead of including <libsecret/secret.h>: that needs the include folders of GLib,
// which only pkg-config knows, and SwiftPM warns in every build about the -pthread among pkg-config's
// flags. Names and types are the stable ABI of libsecret 0.18 and GLib 2.44 and later. A test
// compiles this file behind the real headers, so that a declaration which differs is an error.
//
// The library is loaded when it is first needed: it and the dozen that it needs in turn take longer
// to load than a database with a raw key takes to open.

#ifndef MIGRATIONKIT_CLIBSECRET_H
#define MIGRATIONKIT_CLIBSECRET_H

#include <stdint.h>

/// Loads libsecret. To be called once, before everything below; answers NULL, or what is wrong.
const char *clibsecret_load(void);

// What stands behind each function here is ours, which calls the loaded one. In a program that links
// GLib itself the two must not be taken for each other, and so ours has a symbol of its own.
#ifndef __SECRET_SERVICE_H__
#define LOADED(name) __asm__("clibsecret_" #name)
#else
#define LOADED(name)
#endif

// MARK: GLib

typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GDBusProxy GDBusProxy;
typedef struct _GHashTable GHashTable;
typedef struct _GError GError;
typedef struct _GList GList;
typedef struct _GVariant GVariant;

#ifndef __G_ERROR_H__
struct _GError {
    uint32_t domain;
    int code;
    char *message;
};
#endif

#ifndef __G_LIST_H__
struct _GList {
    void *data;
    GList *next;
    GList *prev;
};
#endif

unsigned int g_log_set_handler(
    const char *domain, int levels,
    void (*handler)(const char *domain, int level, const char *message, void *data), void *data)
    LOADED(g_log_set_handler);
void g_log_remove_handler(const char *domain, unsigned int handler) LOADED(g_log_remove_handler);

void g_free(void *memory) LOADED(g_free);
void g_error_free(GError *error) LOADED(g_error_free);
void *(g_object_ref)(void *object) LOADED(g_object_ref);
void g_object_unref(void *object) LOADED(g_object_unref);

GList *g_list_prepend(GList *list, void *data) LOADED(g_list_prepend);
void g_list_free(GList *list) LOADED(g_list_free);

unsigned int g_str_hash(const void *text) LOADED(g_str_hash);
int (g_str_equal)(const void *left, const void *right) LOADED(g_str_equal);
GHashTable *g_hash_table_new_full(
    unsigned int (*hash)(const void *), int (*equal)(const void *, const void *),
    void (*free_key)(void *), void (*free_value)(void *)) LOADED(g_hash_table_new_full);
int g_hash_table_insert(GHashTable *table, void *key, void *value) LOADED(g_hash_table_insert);
void *g_hash_table_lookup(GHashTable *table, const void *key) LOADED(g_hash_table_lookup);
GList *g_hash_table_get_keys(GHashTable *table) LOADED(g_hash_table_get_keys);
void g_hash_table_unref(GHashTable *table) LOADED(g_hash_table_unref);
char *(g_strdup)(const char *text) LOADED(g_strdup);

GCancellable *g_cancellable_new(void) LOADED(g_cancellable_new);
void g_cancellable_cancel(GCancellable *cancellable) LOADED(g_cancellable_cancel);

uint32_t g_io_error_quark(void) LOADED(g_io_error_quark);
char *g_dbus_error_get_remote_error(const GError *error) LOADED(g_dbus_error_get_remote_error);
int g_dbus_error_strip_remote_error(GError *error) LOADED(g_dbus_error_strip_remote_error);
const char *g_dbus_proxy_get_object_path(GDBusProxy *proxy) LOADED(g_dbus_proxy_get_object_path);
GVariant *g_dbus_proxy_get_cached_property(GDBusProxy *proxy, const char *name)
    LOADED(g_dbus_proxy_get_cached_property);
unsigned long g_variant_n_children(GVariant *variant) LOADED(g_variant_n_children);
void g_variant_unref(GVariant *variant) LOADED(g_variant_unref);
void g_dbus_connection_set_exit_on_close(GDBusConnection *connection, int exits)
    LOADED(g_dbus_connection_set_exit_on_close);

// MARK: libsecret

typedef struct _SecretService SecretService;
typedef struct _SecretCollection SecretCollection;
typedef struct _SecretItem SecretItem;
typedef struct _SecretValue SecretValue;

uint32_t secret_error_get_quark(void) LOADED(secret_error_get_quark);

GList *secret_service_get_collections(SecretService *service)
    LOADED(secret_service_get_collections);
char *secret_collection_get_label(SecretCollection *collection) LOADED(secret_collection_get_label);
int secret_collection_get_locked(SecretCollection *collection) LOADED(secret_collection_get_locked);

char *secret_item_get_label(SecretItem *item) LOADED(secret_item_get_label);
GHashTable *secret_item_get_attributes(SecretItem *item) LOADED(secret_item_get_attributes);
int secret_item_get_locked(SecretItem *item) LOADED(secret_item_get_locked);
uint64_t secret_item_get_created(SecretItem *item) LOADED(secret_item_get_created);
uint64_t secret_item_get_modified(SecretItem *item) LOADED(secret_item_get_modified);
SecretValue *secret_item_get_secret(SecretItem *item) LOADED(secret_item_get_secret);
int secret_item_load_secret_sync(SecretItem *item, GCancellable *cancellable, GError **error)
    LOADED(secret_item_load_secret_sync);
int secret_item_set_secret_sync(
    SecretItem *item, SecretValue *value, GCancellable *cancellable, GError **error)
    LOADED(secret_item_set_secret_sync);
int secret_item_delete_sync(SecretItem *item, GCancellable *cancellable, GError **error)
    LOADED(secret_item_delete_sync);

SecretValue *secret_value_new(const char *bytes, long length, const char *content_type)
    LOADED(secret_value_new);
const char *secret_value_get(SecretValue *value, unsigned long *length) LOADED(secret_value_get);
void secret_value_unref(void *value) LOADED(secret_value_unref);

int secret_service_unlock_sync(
    SecretService *service, GList *objects, GCancellable *cancellable, GList **unlocked,
    GError **error) LOADED(secret_service_unlock_sync);

// MARK: With flags

#ifndef __SECRET_SERVICE_H__

typedef struct _SecretSchema SecretSchema;

enum {
    SECRET_SERVICE_OPEN_SESSION = 1 << 1,
    SECRET_SERVICE_LOAD_COLLECTIONS = 1 << 2,
    SECRET_SEARCH_ALL = 1 << 1,
    SECRET_COLLECTION_NONE = 0,
    SECRET_ITEM_CREATE_NONE = 0,
    SECRET_ERROR_IS_LOCKED = 2,
    SECRET_ERROR_NO_SUCH_OBJECT = 3,
    G_IO_ERROR_CANCELLED = 19,
    G_IO_ERROR_TIMED_OUT = 24,
    G_BUS_TYPE_SESSION = 2,
    G_LOG_LEVEL_CRITICAL = 1 << 3,
};

#else

_Static_assert(SECRET_SERVICE_OPEN_SESSION == 1 << 1, "differs");
_Static_assert(SECRET_SERVICE_LOAD_COLLECTIONS == 1 << 2, "differs");
_Static_assert(SECRET_SEARCH_ALL == 1 << 1, "differs");
_Static_assert(SECRET_COLLECTION_NONE == 0, "differs");
_Static_assert(SECRET_ITEM_CREATE_NONE == 0, "differs");
_Static_assert(SECRET_ERROR_IS_LOCKED == 2, "differs");
_Static_assert(SECRET_ERROR_NO_SUCH_OBJECT == 3, "differs");
_Static_assert(G_IO_ERROR_CANCELLED == 19, "differs");
_Static_assert(G_IO_ERROR_TIMED_OUT == 24, "differs");
_Static_assert(G_BUS_TYPE_SESSION == 2, "differs");
_Static_assert(G_LOG_LEVEL_CRITICAL == 1 << 3, "differs");

#endif

GDBusConnection *g_bus_get_sync(int bus, GCancellable *cancellable, GError **error)
    LOADED(g_bus_get_sync);

SecretService *secret_service_open_sync(
    unsigned long type, const char *bus_name, unsigned int flags, GCancellable *cancellable,
    GError **error) LOADED(secret_service_open_sync);
unsigned long secret_service_get_type(void) LOADED(secret_service_get_type);

SecretCollection *secret_collection_for_alias_sync(
    SecretService *service, const char *alias, unsigned int flags, GCancellable *cancellable,
    GError **error) LOADED(secret_collection_for_alias_sync);

GList *secret_service_search_sync(
    SecretService *service, const SecretSchema *schema, GHashTable *attributes, unsigned int flags,
    GCancellable *cancellable, GError **error) LOADED(secret_service_search_sync);

SecretItem *secret_item_create_sync(
    SecretCollection *collection, const SecretSchema *schema, GHashTable *attributes,
    const char *label, SecretValue *value, unsigned int flags, GCancellable *cancellable,
    GError **error) LOADED(secret_item_create_sync);

#endif
