// The part of libsecret, and of the GLib beneath it, that SecretService calls.
//
// Declared here instead of including <libsecret/secret.h>: that needs the include folders of GLib,
// which only pkg-config knows, and SwiftPM warns in every build about the -pthread among pkg-config's
// flags. Names and types are the stable ABI of libsecret 0.18 and GLib 2.44 and later. A test
// compiles this file behind the real headers, so that a declaration which differs is an error.

#ifndef MIGRATIONKIT_CLIBSECRET_SHIM_H
#define MIGRATIONKIT_CLIBSECRET_SHIM_H

#include <stdint.h>

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
    void (*handler)(const char *domain, int level, const char *message, void *data), void *data);
void g_log_remove_handler(const char *domain, unsigned int handler);

void g_free(void *memory);
void g_error_free(GError *error);
void *(g_object_ref)(void *object);
void g_object_unref(void *object);

GList *g_list_prepend(GList *list, void *data);
void g_list_free(GList *list);

unsigned int g_str_hash(const void *text);
int (g_str_equal)(const void *left, const void *right);
GHashTable *g_hash_table_new_full(
    unsigned int (*hash)(const void *), int (*equal)(const void *, const void *),
    void (*free_key)(void *), void (*free_value)(void *));
int g_hash_table_insert(GHashTable *table, void *key, void *value);
void *g_hash_table_lookup(GHashTable *table, const void *key);
GList *g_hash_table_get_keys(GHashTable *table);
void g_hash_table_unref(GHashTable *table);
char *(g_strdup)(const char *text);

GCancellable *g_cancellable_new(void);
void g_cancellable_cancel(GCancellable *cancellable);

uint32_t g_io_error_quark(void);
char *g_dbus_error_get_remote_error(const GError *error);
int g_dbus_error_strip_remote_error(GError *error);
const char *g_dbus_proxy_get_object_path(GDBusProxy *proxy);
GVariant *g_dbus_proxy_get_cached_property(GDBusProxy *proxy, const char *name);
unsigned long g_variant_n_children(GVariant *variant);
void g_variant_unref(GVariant *variant);
void g_dbus_connection_set_exit_on_close(GDBusConnection *connection, int exits);

// MARK: libsecret

typedef struct _SecretService SecretService;
typedef struct _SecretCollection SecretCollection;
typedef struct _SecretItem SecretItem;
typedef struct _SecretValue SecretValue;

uint32_t secret_error_get_quark(void);

GList *secret_service_get_collections(SecretService *service);
char *secret_collection_get_label(SecretCollection *collection);
int secret_collection_get_locked(SecretCollection *collection);

char *secret_item_get_label(SecretItem *item);
GHashTable *secret_item_get_attributes(SecretItem *item);
int secret_item_get_locked(SecretItem *item);
uint64_t secret_item_get_created(SecretItem *item);
uint64_t secret_item_get_modified(SecretItem *item);
SecretValue *secret_item_get_secret(SecretItem *item);
int secret_item_load_secret_sync(SecretItem *item, GCancellable *cancellable, GError **error);
int secret_item_set_secret_sync(
    SecretItem *item, SecretValue *value, GCancellable *cancellable, GError **error);
int secret_item_delete_sync(SecretItem *item, GCancellable *cancellable, GError **error);

SecretValue *secret_value_new(const char *bytes, long length, const char *content_type);
const char *secret_value_get(SecretValue *value, unsigned long *length);
void secret_value_unref(void *value);

int secret_service_unlock_sync(
    SecretService *service, GList *objects, GCancellable *cancellable, GList **unlocked,
    GError **error);

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

GDBusConnection *g_bus_get_sync(int bus, GCancellable *cancellable, GError **error);

SecretService *secret_service_open_sync(
    unsigned long type, const char *bus_name, unsigned int flags, GCancellable *cancellable,
    GError **error);
unsigned long secret_service_get_type(void);

SecretCollection *secret_collection_for_alias_sync(
    SecretService *service, const char *alias, unsigned int flags, GCancellable *cancellable,
    GError **error);

GList *secret_service_search_sync(
    SecretService *service, const SecretSchema *schema, GHashTable *attributes, unsigned int flags,
    GCancellable *cancellable, GError **error);

SecretItem *secret_item_create_sync(
    SecretCollection *collection, const SecretSchema *schema, GHashTable *attributes,
    const char *label, SecretValue *value, unsigned int flags, GCancellable *cancellable,
    GError **error);

#endif
