#include "CLibSecret.h"

#include <dlfcn.h>
#include <stddef.h>

#define FUNCTIONS(each) \
    each(g_log_set_handler) \
    each(g_log_remove_handler) \
    each(g_free) \
    each(g_error_free) \
    each(g_object_ref) \
    each(g_object_unref) \
    each(g_list_prepend) \
    each(g_list_free) \
    each(g_str_hash) \
    each(g_str_equal) \
    each(g_hash_table_new_full) \
    each(g_hash_table_insert) \
    each(g_hash_table_lookup) \
    each(g_hash_table_get_keys) \
    each(g_hash_table_unref) \
    each(g_strdup) \
    each(g_cancellable_new) \
    each(g_cancellable_cancel) \
    each(g_io_error_quark) \
    each(g_dbus_error_get_remote_error) \
    each(g_dbus_error_strip_remote_error) \
    each(g_dbus_proxy_get_object_path) \
    each(g_dbus_proxy_get_cached_property) \
    each(g_variant_n_children) \
    each(g_variant_unref) \
    each(g_dbus_connection_set_exit_on_close) \
    each(secret_error_get_quark) \
    each(secret_service_get_collections) \
    each(secret_collection_get_label) \
    each(secret_collection_get_locked) \
    each(secret_item_get_label) \
    each(secret_item_get_attributes) \
    each(secret_item_get_locked) \
    each(secret_item_get_created) \
    each(secret_item_get_modified) \
    each(secret_item_get_secret) \
    each(secret_item_load_secret_sync) \
    each(secret_item_set_secret_sync) \
    each(secret_item_delete_sync) \
    each(secret_value_new) \
    each(secret_value_get) \
    each(secret_value_unref) \
    each(secret_service_unlock_sync) \
    each(g_bus_get_sync) \
    each(secret_service_open_sync) \
    each(secret_service_get_type) \
    each(secret_collection_for_alias_sync) \
    each(secret_service_search_sync) \
    each(secret_item_create_sync)

// MARK: Loading

static struct {
#define PLACE(name) __typeof__(&name) name;
    FUNCTIONS(PLACE)
} loaded;

const char *clibsecret_load(void) {
    // Never closed: GLib can't be unloaded.
    void *library = dlopen("libsecret-1.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return dlerror();
    // A symbol is looked for in the libraries that this one needs as well: GIO, GObject, GLib.
#define FIND(name) \
    loaded.name = (__typeof__(&name))dlsym(library, #name); \
    if (loaded.name == NULL) return dlerror();
    FUNCTIONS(FIND)
    return NULL;
}

// MARK: Calling

unsigned int g_log_set_handler(
    const char *domain, int levels, void (*handler)(const char *domain, int level, const char
    *message, void *data), void *data) {
    return loaded.g_log_set_handler(domain, levels, handler, data);
}

void g_log_remove_handler(const char *domain, unsigned int handler) {
    loaded.g_log_remove_handler(domain, handler);
}

void g_free(void *memory) {
    loaded.g_free(memory);
}

void g_error_free(GError *error) {
    loaded.g_error_free(error);
}

void *g_object_ref(void *object) {
    return loaded.g_object_ref(object);
}

void g_object_unref(void *object) {
    loaded.g_object_unref(object);
}

GList *g_list_prepend(GList *list, void *data) {
    return loaded.g_list_prepend(list, data);
}

void g_list_free(GList *list) {
    loaded.g_list_free(list);
}

unsigned int g_str_hash(const void *text) {
    return loaded.g_str_hash(text);
}

int g_str_equal(const void *left, const void *right) {
    return loaded.g_str_equal(left, right);
}

GHashTable *g_hash_table_new_full(
    unsigned int (*hash)(const void *), int (*equal)(const void *, const void *), void
    (*free_key)(void *), void (*free_value)(void *)) {
    return loaded.g_hash_table_new_full(hash, equal, free_key, free_value);
}

int g_hash_table_insert(GHashTable *table, void *key, void *value) {
    return loaded.g_hash_table_insert(table, key, value);
}

void *g_hash_table_lookup(GHashTable *table, const void *key) {
    return loaded.g_hash_table_lookup(table, key);
}

GList *g_hash_table_get_keys(GHashTable *table) {
    return loaded.g_hash_table_get_keys(table);
}

void g_hash_table_unref(GHashTable *table) {
    loaded.g_hash_table_unref(table);
}

char *g_strdup(const char *text) {
    return loaded.g_strdup(text);
}

GCancellable *g_cancellable_new(void) {
    return loaded.g_cancellable_new();
}

void g_cancellable_cancel(GCancellable *cancellable) {
    loaded.g_cancellable_cancel(cancellable);
}

uint32_t g_io_error_quark(void) {
    return loaded.g_io_error_quark();
}

char *g_dbus_error_get_remote_error(const GError *error) {
    return loaded.g_dbus_error_get_remote_error(error);
}

int g_dbus_error_strip_remote_error(GError *error) {
    return loaded.g_dbus_error_strip_remote_error(error);
}

const char *g_dbus_proxy_get_object_path(GDBusProxy *proxy) {
    return loaded.g_dbus_proxy_get_object_path(proxy);
}

GVariant *g_dbus_proxy_get_cached_property(GDBusProxy *proxy, const char *name) {
    return loaded.g_dbus_proxy_get_cached_property(proxy, name);
}

unsigned long g_variant_n_children(GVariant *variant) {
    return loaded.g_variant_n_children(variant);
}

void g_variant_unref(GVariant *variant) {
    loaded.g_variant_unref(variant);
}

void g_dbus_connection_set_exit_on_close(GDBusConnection *connection, int exits) {
    loaded.g_dbus_connection_set_exit_on_close(connection, exits);
}

uint32_t secret_error_get_quark(void) {
    return loaded.secret_error_get_quark();
}

GList *secret_service_get_collections(SecretService *service) {
    return loaded.secret_service_get_collections(service);
}

char *secret_collection_get_label(SecretCollection *collection) {
    return loaded.secret_collection_get_label(collection);
}

int secret_collection_get_locked(SecretCollection *collection) {
    return loaded.secret_collection_get_locked(collection);
}

char *secret_item_get_label(SecretItem *item) {
    return loaded.secret_item_get_label(item);
}

GHashTable *secret_item_get_attributes(SecretItem *item) {
    return loaded.secret_item_get_attributes(item);
}

int secret_item_get_locked(SecretItem *item) {
    return loaded.secret_item_get_locked(item);
}

uint64_t secret_item_get_created(SecretItem *item) {
    return loaded.secret_item_get_created(item);
}

uint64_t secret_item_get_modified(SecretItem *item) {
    return loaded.secret_item_get_modified(item);
}

SecretValue *secret_item_get_secret(SecretItem *item) {
    return loaded.secret_item_get_secret(item);
}

int secret_item_load_secret_sync(SecretItem *item, GCancellable *cancellable, GError **error) {
    return loaded.secret_item_load_secret_sync(item, cancellable, error);
}

int secret_item_set_secret_sync(
    SecretItem *item, SecretValue *value, GCancellable *cancellable, GError **error) {
    return loaded.secret_item_set_secret_sync(item, value, cancellable, error);
}

int secret_item_delete_sync(SecretItem *item, GCancellable *cancellable, GError **error) {
    return loaded.secret_item_delete_sync(item, cancellable, error);
}

SecretValue *secret_value_new(const char *bytes, long length, const char *content_type) {
    return loaded.secret_value_new(bytes, length, content_type);
}

const char *secret_value_get(SecretValue *value, unsigned long *length) {
    return loaded.secret_value_get(value, length);
}

void secret_value_unref(void *value) {
    loaded.secret_value_unref(value);
}

int secret_service_unlock_sync(
    SecretService *service, GList *objects, GCancellable *cancellable, GList **unlocked,
    GError **error) {
    return loaded.secret_service_unlock_sync(service, objects, cancellable, unlocked, error);
}

GDBusConnection *g_bus_get_sync(int bus, GCancellable *cancellable, GError **error) {
    return loaded.g_bus_get_sync(bus, cancellable, error);
}

SecretService *secret_service_open_sync(
    unsigned long type, const char *bus_name, unsigned int flags, GCancellable *cancellable,
    GError **error) {
    return loaded.secret_service_open_sync(type, bus_name, flags, cancellable, error);
}

unsigned long secret_service_get_type(void) {
    return loaded.secret_service_get_type();
}

SecretCollection *secret_collection_for_alias_sync(
    SecretService *service, const char *alias, unsigned int flags, GCancellable *cancellable,
    GError **error) {
    return loaded.secret_collection_for_alias_sync(service, alias, flags, cancellable, error);
}

GList *secret_service_search_sync(
    SecretService *service, const SecretSchema *schema, GHashTable *attributes,
    unsigned int flags, GCancellable *cancellable, GError **error) {
    return loaded.secret_service_search_sync(
        service, schema, attributes, flags, cancellable, error);
}

SecretItem *secret_item_create_sync(
    SecretCollection *collection, const SecretSchema *schema, GHashTable *attributes, 
    const char *label, SecretValue *value, unsigned int flags, GCancellable *cancellable,
    GError **error) {
    return loaded.secret_item_create_sync(
        collection, schema, attributes, label, value, flags, cancellable, error);
}
