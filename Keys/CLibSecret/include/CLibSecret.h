// The part of libsecret, and of the GLib beneath it, that SecretService calls.
//
// libsecret is loaded at run time: the tool must run where it is not installed, and loading it with
// the dozen libraries that it needs takes longer than opening a database with a raw key.
//
// Its header is not included here. Only pkg-config knows GLib's include folders, and what SwiftPM
// takes from pkg-config it links as well, which is what loading avoids. So each function stands in
// the table below once, with the ABI of libsecret 0.18 and GLib 2.44 and later. A test compiles
// this file behind the real header, where a type or a constant that differs is an error.

#ifndef MIGRATIONKIT_CLIBSECRET_H
#define MIGRATIONKIT_CLIBSECRET_H

#include <stdint.h>

/// Loads libsecret. Call it once, before any other function here. Returns NULL, or why it failed.
const char *clibsecret_load(void);

// MARK: - Types

typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GDBusProxy GDBusProxy;
typedef struct _GHashTable GHashTable;
typedef struct _GError GError;
typedef struct _GList GList;
typedef struct _GVariant GVariant;
typedef struct _GVariantType GVariantType;
typedef struct _GUnixFDList GUnixFDList;
typedef struct _GMainContext GMainContext;
typedef struct _SecretService SecretService;
typedef struct _SecretCollection SecretCollection;
typedef struct _SecretItem SecretItem;
typedef struct _SecretValue SecretValue;

#ifndef __SECRET_SERVICE_H__

typedef struct _SecretSchema SecretSchema;

struct _GError {
    uint32_t domain;
    int code;
    char *message;
};

struct _GList {
    void *data;
    GList *next;
    GList *prev;
};

#define CONSTANT(name, value) enum { name = value };
// The functions are ours and call the loaded ones. In a program that links GLib the linker must not
// confuse the two, so ours have symbols of their own.
#define DECLARE(type, name, parameters, arguments) \
    type name parameters __asm__("clibsecret_" #name);

#else

#define CONSTANT(name, value) _Static_assert(name == (value), "differs");
// The parentheses keep GLib's macros of the same names away.
#define DECLARE(type, name, parameters, arguments) type(name) parameters;

#endif

// MARK: - Constants

CONSTANT(SECRET_SERVICE_OPEN_SESSION, 1 << 1)
CONSTANT(SECRET_SEARCH_ALL, 1 << 1)
CONSTANT(SECRET_COLLECTION_NONE, 0)
CONSTANT(SECRET_ITEM_NONE, 0)
CONSTANT(SECRET_ITEM_CREATE_NONE, 0)
CONSTANT(SECRET_ERROR_PROTOCOL, 1)
CONSTANT(SECRET_ERROR_IS_LOCKED, 2)
CONSTANT(SECRET_ERROR_NO_SUCH_OBJECT, 3)
CONSTANT(G_IO_ERROR_CLOSED, 18)
CONSTANT(G_IO_ERROR_CANCELLED, 19)
CONSTANT(G_IO_ERROR_TIMED_OUT, 24)
CONSTANT(G_BUS_TYPE_SESSION, 2)
CONSTANT(G_DBUS_CALL_FLAGS_NO_AUTO_START, 1 << 0)

// MARK: - Functions

typedef void CSignalHandler(
    GDBusConnection *connection, const char *sender, const char *path, const char *interface,
    const char *name, GVariant *arguments, void *data
);

// Each: what it returns, its name, its parameters, and how these are passed on.
#define LIBSECRET_FUNCTIONS(each) \
    each(void, g_free, (void *memory), (memory)) \
    each(void, g_error_free, (GError *error), (error)) \
    each(void, g_object_unref, (void *object), (object)) \
    each(GList *, g_list_prepend, (GList *list, void *data), (list, data)) \
    each(void, g_list_free, (GList *list), (list)) \
    each(unsigned, g_str_hash, (const void *text), (text)) \
    each(int, g_str_equal, (const void *left, const void *right), (left, right)) \
    each(GHashTable *, g_hash_table_new_full, \
        (unsigned (*hash)(const void *), int (*equal)(const void *, const void *), \
            void (*free_key)(void *), void (*free_value)(void *)), \
        (hash, equal, free_key, free_value)) \
    each(int, g_hash_table_insert, (GHashTable *table, void *key, void *value), \
        (table, key, value)) \
    each(void *, g_hash_table_lookup, (GHashTable *table, const void *key), (table, key)) \
    each(GList *, g_hash_table_get_keys, (GHashTable *table), (table)) \
    each(void, g_hash_table_unref, (GHashTable *table), (table)) \
    each(char *, g_strdup, (const char *text), (text)) \
    each(GCancellable *, g_cancellable_new, (void), ()) \
    each(void, g_cancellable_cancel, (GCancellable *cancellable), (cancellable)) \
    each(int, g_cancellable_is_cancelled, (GCancellable *cancellable), (cancellable)) \
    each(uint32_t, g_io_error_quark, (void), ()) \
    each(GUnixFDList *, g_unix_fd_list_new_from_array, (const int *descriptors, int count), \
        (descriptors, count)) \
    each(char *, g_dbus_error_get_remote_error, (const GError *error), (error)) \
    each(int, g_dbus_error_strip_remote_error, (GError *error), (error)) \
    each(const char *, g_dbus_proxy_get_object_path, (GDBusProxy *proxy), (proxy)) \
    each(GVariant *, g_dbus_proxy_get_cached_property, (GDBusProxy *proxy, const char *name), \
        (proxy, name)) \
    each(char *, g_dbus_proxy_get_name_owner, (GDBusProxy *proxy), (proxy)) \
    each(GVariant *, g_variant_new_string, (const char *text), (text)) \
    each(GVariant *, g_variant_new_object_path, (const char *path), (path)) \
    each(GVariant *, g_variant_new_int32, (int32_t number), (number)) \
    each(GVariant *, g_variant_new_int64, (int64_t number), (number)) \
    each(GVariant *, g_variant_new_boolean, (int value), (value)) \
    each(GVariant *, g_variant_new_handle, (int32_t index), (index)) \
    each(GVariant *, g_variant_new_variant, (GVariant *value), (value)) \
    each(GVariant *, g_variant_new_dict_entry, (GVariant *key, GVariant *value), (key, value)) \
    each(GVariant *, g_variant_new_array, \
        (const GVariantType *type, GVariant *const *children, unsigned long count), \
        (type, children, count)) \
    each(GVariant *, g_variant_new_tuple, (GVariant *const *children, unsigned long count), \
        (children, count)) \
    each(const char *, g_variant_get_type_string, (GVariant *variant), (variant)) \
    each(const char *, g_variant_get_string, (GVariant *variant, unsigned long *length), \
        (variant, length)) \
    each(int32_t, g_variant_get_int32, (GVariant *variant), (variant)) \
    each(uint32_t, g_variant_get_uint32, (GVariant *variant), (variant)) \
    each(int, g_variant_get_boolean, (GVariant *variant), (variant)) \
    each(unsigned long, g_variant_n_children, (GVariant *variant), (variant)) \
    each(GVariant *, g_variant_get_child_value, (GVariant *variant, unsigned long index), \
        (variant, index)) \
    each(void, g_variant_unref, (GVariant *variant), (variant)) \
    each(GDBusConnection *, g_bus_get_sync, \
        (int bus, GCancellable *cancellable, GError **error), (bus, cancellable, error)) \
    each(void, g_dbus_connection_set_exit_on_close, (GDBusConnection *connection, int exits), \
        (connection, exits)) \
    each(int, g_dbus_connection_is_closed, (GDBusConnection *connection), (connection)) \
    each(const char *, g_dbus_connection_get_guid, (GDBusConnection *connection), (connection)) \
    each(GVariant *, g_dbus_connection_call_with_unix_fd_list_sync, \
        (GDBusConnection *connection, const char *bus_name, const char *path, \
            const char *interface, const char *method, GVariant *parameters, \
            const GVariantType *reply, unsigned flags, int timeout, GUnixFDList *descriptors, \
            GUnixFDList **returned, GCancellable *cancellable, GError **error), \
        (connection, bus_name, path, interface, method, parameters, reply, flags, timeout, \
            descriptors, returned, cancellable, error)) \
    each(unsigned, g_dbus_connection_signal_subscribe, \
        (GDBusConnection *connection, const char *sender, const char *interface, \
            const char *name, const char *path, const char *argument, unsigned flags, \
            CSignalHandler *handler, void *data, void (*free_data)(void *)), \
        (connection, sender, interface, name, path, argument, flags, handler, data, free_data)) \
    each(void, g_dbus_connection_signal_unsubscribe, \
        (GDBusConnection *connection, unsigned subscription), (connection, subscription)) \
    each(GMainContext *, g_main_context_new, (void), ()) \
    each(void, g_main_context_push_thread_default, (GMainContext *context), (context)) \
    each(void, g_main_context_pop_thread_default, (GMainContext *context), (context)) \
    each(int, g_main_context_iteration, (GMainContext *context, int blocks), (context, blocks)) \
    each(void, g_main_context_unref, (GMainContext *context), (context)) \
    each(uint32_t, secret_error_get_quark, (void), ()) \
    each(unsigned long, secret_service_get_type, (void), ()) \
    each(SecretService *, secret_service_open_sync, \
        (unsigned long type, const char *bus_name, unsigned flags, GCancellable *cancellable, \
            GError **error), \
        (type, bus_name, flags, cancellable, error)) \
    each(GList *, secret_service_search_sync, \
        (SecretService *service, const SecretSchema *schema, GHashTable *attributes, \
            unsigned flags, GCancellable *cancellable, GError **error), \
        (service, schema, attributes, flags, cancellable, error)) \
    each(SecretCollection *, secret_collection_for_alias_sync, \
        (SecretService *service, const char *alias, unsigned flags, GCancellable *cancellable, \
            GError **error), \
        (service, alias, flags, cancellable, error)) \
    each(SecretCollection *, secret_collection_new_for_dbus_path_sync, \
        (SecretService *service, const char *path, unsigned flags, GCancellable *cancellable, \
            GError **error), \
        (service, path, flags, cancellable, error)) \
    each(SecretItem *, secret_item_new_for_dbus_path_sync, \
        (SecretService *service, const char *path, unsigned flags, GCancellable *cancellable, \
            GError **error), \
        (service, path, flags, cancellable, error)) \
    each(char *, secret_collection_get_label, (SecretCollection *collection), (collection)) \
    each(int, secret_collection_get_locked, (SecretCollection *collection), (collection)) \
    each(SecretItem *, secret_item_create_sync, \
        (SecretCollection *collection, const SecretSchema *schema, GHashTable *attributes, \
            const char *label, SecretValue *value, unsigned flags, GCancellable *cancellable, \
            GError **error), \
        (collection, schema, attributes, label, value, flags, cancellable, error)) \
    each(char *, secret_item_get_label, (SecretItem *item), (item)) \
    each(GHashTable *, secret_item_get_attributes, (SecretItem *item), (item)) \
    each(int, secret_item_get_locked, (SecretItem *item), (item)) \
    each(uint64_t, secret_item_get_created, (SecretItem *item), (item)) \
    each(uint64_t, secret_item_get_modified, (SecretItem *item), (item)) \
    each(SecretValue *, secret_item_get_secret, (SecretItem *item), (item)) \
    each(int, secret_item_load_secret_sync, \
        (SecretItem *item, GCancellable *cancellable, GError **error), \
        (item, cancellable, error)) \
    each(int, secret_item_load_secrets_sync, \
        (GList *items, GCancellable *cancellable, GError **error), (items, cancellable, error)) \
    each(int, secret_item_set_secret_sync, \
        (SecretItem *item, SecretValue *value, GCancellable *cancellable, GError **error), \
        (item, value, cancellable, error)) \
    each(int, secret_item_delete_sync, \
        (SecretItem *item, GCancellable *cancellable, GError **error), \
        (item, cancellable, error)) \
    each(SecretValue *, secret_value_new, \
        (const char *bytes, long length, const char *content_type), \
        (bytes, length, content_type)) \
    each(const char *, secret_value_get, (SecretValue *value, unsigned long *length), \
        (value, length)) \
    each(void, secret_value_unref, (void *value), (value))

LIBSECRET_FUNCTIONS(DECLARE)

#undef CONSTANT
#undef DECLARE

#endif
