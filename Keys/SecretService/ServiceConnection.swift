import CLibSecret
import Glibc
import MigrationKitKeys

/// One connection to the Secret Service: the thin layer over libsecret, above which there is no
/// pointer and no GError.
///
/// Opened anew for each operation, so that what it reports about locks and items is current.
struct ServiceConnection {
    let bus: SessionBus
    let service: GObjectReference
    let cancellation: GLibCancellation

    /// Connects to the bus and the service, and negotiates how secrets are encrypted in transit.
    ///
    /// - Throws: ``KeyStoreError/noBus``; ``KeyStoreError/noService``; ``TimeLimit/Expired``.
    init(cancellation: GLibCancellation) throws {
        self.cancellation = cancellation
        bus = try SessionBus(cancellation: cancellation)
        service = try Self.open(cancellation)
    }

    private static func open(_ cancellation: GLibCancellation) throws -> GObjectReference {
        do {
            return GObjectReference(
                owned: try GLib.call {
                    secret_service_open_sync(
                        secret_service_get_type(),
                        nil,
                        UInt32(SECRET_SERVICE_OPEN_SESSION),
                        cancellation.pointer,
                        $0
                    )
                }
            )
        } catch let KeyStoreError.failure(message) {
            throw PassingFailure.sessionUnusable(message: message)
        }
    }

    /// Every collection of the service.
    ///
    /// libsecret's own way loads every item with them, and fails if GNOME Keyring lists one that isn't on
    /// the bus, such as the secret of its portal.
    func collections() throws -> [ServiceCollection] {
        try paths("Collections", of: service).compactMap(collection(at:))
    }

    /// The collection with a path on the bus; `nil` if it has gone.
    private func collection(at path: String) throws -> ServiceCollection? {
        try unlessGone {
            secret_collection_new_for_dbus_path_sync(
                service.pointer,
                path,
                UInt32(SECRET_COLLECTION_NONE),
                cancellation.pointer,
                $0
            )
        }.map(ServiceCollection.init)
    }

    private func paths(_ property: String, of object: GObjectReference) -> [String] {
        guard let value = g_dbus_proxy_get_cached_property(object.pointer, property) else {
            return []
        }
        defer { g_variant_unref(value) }
        return BusAnswer(value).strings
    }

    /// An object of the service; `nil` if it has gone.
    private func unlessGone(
        _ body: (GLib.ErrorPlace) -> OpaquePointer?
    ) throws -> GObjectReference? {
        do {
            return GObjectReference(owned: try GLib.call(body))
        } catch PassingFailure.objectGone {
            return nil
        }
    }

    /// The collection that an alias such as `default` stands for; nil if there is none.
    func collection(alias: String) throws -> ServiceCollection? {
        do {
            return try GLib.optionalCall {
                secret_collection_for_alias_sync(
                    service.pointer,
                    alias,
                    UInt32(SECRET_COLLECTION_NONE),
                    cancellation.pointer,
                    $0
                )
            }.map { ServiceCollection(GObjectReference(owned: $0)) }
        } catch PassingFailure.objectGone {
            // The alias has outlived its collection.
            return nil
        }
    }

    /// Has the desktop make a default collection, for which it asks the user for a password.
    ///
    /// libsecret's own way never ends if KWallet's question is dismissed: the answer has a type that
    /// libsecret refuses.
    /// <https://specifications.freedesktop.org/secret-service-spec/latest/prompts.html>
    ///
    /// - Returns: `nil` if the question was dismissed.
    func makeDefaultCollection() throws -> ServiceCollection? {
        // What other programs call it, too.
        let label = ["org.freedesktop.Secret.Collection.Label": "Default keyring"]
        guard
            let path = try asking("CreateCollection", [.strings(label), .string("default")]),
            path != "/"
        else { return nil }
        return try collection(at: path)
    }

    /// Calls a method of the service that may have a person asked, and waits for the answer.
    ///
    /// libsecret's own way takes the question back when it is cancelled.
    ///
    /// - Returns: The first path in the result; `nil` if the question was dismissed.
    private func asking(_ method: String, _ arguments: [BusValue]) throws -> String? {
        guard let program = text(g_dbus_proxy_get_name_owner(service.pointer)) else {
            throw KeyStoreError.noService
        }
        let completions = BusSignals(bus, of: program, "org.freedesktop.Secret.Prompt", "Completed")
        let paths = try bus.call(
            program,
            "/org/freedesktop/secrets",
            "org.freedesktop.Secret.Service.\(method)",
            arguments
        ).strings
        // The last is that of the question; "/" if nobody must be asked.
        guard let question = paths.last, question != "/" else { return paths.first }
        cancellation.isAsking.withLock { $0 = true }
        defer { cancellation.isAsking.withLock { $0 = false } }
        return try answer(to: question, of: program, completions)
    }

    /// Shows a question, and waits for its answer. If the wait is cancelled, the question is taken back,
    /// except from GNOME Keyring, which would abort (`perform_next_unlock: assertion failed`, 42.1). There
    /// it stays until it is answered or this process ends.
    ///
    /// - Returns: The first path in the answer; `nil` if the question was dismissed.
    private func answer(
        to question: String,
        of program: String,
        _ completions: BusSignals
    ) throws -> String? {
        func tell(_ method: String, _ arguments: [BusValue], on bus: SessionBus) throws {
            let method = "org.freedesktop.Secret.Prompt.\(method)"
            _ = try bus.call(program, question, method, arguments)
        }
        try tell("Prompt", [.string("")], on: bus)
        while true {
            let isRunning = owner(of: "org.freedesktop.secrets") == program
            guard g_cancellable_is_cancelled(cancellation.pointer) == 0 else {
                if owner(of: "org.gnome.keyring") != program {
                    try? tell("Dismiss", [], on: SessionBus(cancellation: GLibCancellation()))
                }
                throw TimeLimit.Expired()
            }
            guard isRunning else { throw KeyStoreError.noService }
            for _ in 0..<20 {
                completions.receive()
                if let answer = completions.latest[question] {
                    return answer.integers.first == 0 ? answer.strings.first ?? "/" : nil
                }
                usleep(10_000)
            }
        }
    }

    /// The items that have all these attributes, with any schema, including locked ones.
    ///
    /// No schema is given: in a locked gnome-keyring a search that names one matches nothing.
    func items(attributes: [String: String]) throws -> [ServiceItem] {
        let table = attributeTable(attributes)
        defer { g_hash_table_unref(table) }
        var error: UnsafeMutablePointer<GError>?
        let list = secret_service_search_sync(
            service.pointer,
            nil,
            table,
            UInt32(SECRET_SEARCH_ALL),
            cancellation.pointer,
            &error
        )
        if let error { throw failure(error) }
        return objects(list).map(ServiceItem.init)
    }

    /// Every item of a collection, of any program.
    func items(in collection: ServiceCollection) throws -> [ServiceItem] {
        try paths("Items", of: collection.object).compactMap { path in
            try unlessGone {
                secret_item_new_for_dbus_path_sync(
                    service.pointer,
                    path,
                    UInt32(SECRET_ITEM_NONE),
                    cancellation.pointer,
                    $0
                )
            }.map(ServiceItem.init)
        }
    }

    /// Loads the secrets of unlocked items at once. A call for each would take a thousand times as
    /// long as one for a thousand items.
    func loadSecrets(of items: [ServiceItem]) throws {
        var list: UnsafeMutablePointer<GList>?
        for item in items {
            list = g_list_prepend(list, UnsafeMutableRawPointer(item.object.pointer))
        }
        defer { g_list_free(list) }
        var error: UnsafeMutablePointer<GError>?
        secret_item_load_secrets_sync(list, cancellation.pointer, &error)
        if let error { throw failure(error) }
    }

    /// Requests unlocking of collections or items by their paths, which may show a question.
    func unlock(_ paths: [String]) throws {
        _ = try asking("Unlock", [.paths(paths)])
    }

    /// The secret of an unlocked item, copied from libsecret's locked memory into ours.
    func secret(of item: ServiceItem) throws -> Secret? {
        var error: UnsafeMutablePointer<GError>?
        secret_item_load_secret_sync(item.object.pointer, cancellation.pointer, &error)
        if let error { throw failure(error) }
        return loadedSecret(of: item)
    }

    /// The secret of an item that was loaded; `nil` if it wasn't.
    func loadedSecret(of item: ServiceItem) -> Secret? {
        guard let value = secret_item_get_secret(item.object.pointer) else { return nil }
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        var length: UInt = 0
        let bytes = secret_value_get(value, &length)
        return Secret(copying: UnsafeRawBufferPointer(start: bytes, count: Int(length)))
    }

    /// Creates an item beside any existing ones, and returns it.
    func makeItem(
        _ secret: Secret,
        contentType: String,
        label: String,
        attributes: [String: String],
        in collection: ServiceCollection
    ) throws -> ServiceItem {
        let table = attributeTable(attributes)
        defer { g_hash_table_unref(table) }
        let value = try value(secret, contentType: contentType)
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        let made = try GLib.optionalCall {
            secret_item_create_sync(
                collection.object.pointer,
                nil,
                table,
                label,
                value,
                UInt32(SECRET_ITEM_CREATE_NONE),
                cancellation.pointer,
                $0
            )
        }
        guard let made else { throw KeyStoreError.promptDismissed(collection: collection.label) }
        return ServiceItem(GObjectReference(owned: made))
    }

    /// Gives an item another secret.
    func replaceSecret(of item: ServiceItem, by secret: Secret, contentType: String) throws {
        let value = try value(secret, contentType: contentType)
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        var error: UnsafeMutablePointer<GError>?
        secret_item_set_secret_sync(item.object.pointer, value, cancellation.pointer, &error)
        if let error { throw failure(error) }
    }

    /// Deletes an item.
    func delete(_ item: ServiceItem) throws {
        var error: UnsafeMutablePointer<GError>?
        let deleted = secret_item_delete_sync(item.object.pointer, cancellation.pointer, &error)
        if let error { throw failure(error) }
        guard deleted != 0 else {
            throw KeyStoreError.promptDismissed(collection: item.collectionPath)
        }
    }

    /// A copy of the bytes in libsecret's locked memory, which libsecret wipes. The caller owns it.
    private func value(_ secret: Secret, contentType: String) throws -> OpaquePointer {
        let value = secret.withUnsafeBytes { bytes in
            secret_value_new(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                bytes.count,
                contentType
            )
        }
        guard let value else { throw KeyStoreError.failure(message: "no memory for the secret") }
        return value
    }

    /// The objects of a list that the caller owns, each with its reference.
    private func objects(_ list: UnsafeMutablePointer<GList>?) -> [GObjectReference] {
        defer { g_list_free(list) }
        return sequence(first: list, next: { $0?.pointee.next }).prefix { $0 != nil }
            .compactMap { $0?.pointee.data }
            .map { GObjectReference(owned: OpaquePointer($0)) }
    }

    private func attributeTable(_ attributes: [String: String]) -> OpaquePointer? {
        let table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
        for (name, value) in attributes {
            _ = g_hash_table_insert(table, g_strdup(name), g_strdup(value))
        }
        return table
    }
}

/// A failure after which another attempt may succeed, with the message of the service or libsecret.
enum PassingFailure: Error {
    /// An item disappeared after it was found: another program has deleted it.
    case objectGone(message: String)
    /// The session's keys don't serve: another session is needed. KWallet fails 1 in 256 exchanges of
    /// keys, those in which a number begins with a zero, and some of them only when the key is used.
    case sessionUnusable(message: String)

    var message: String {
        switch self {
        case .objectGone(let message), .sessionUnusable(let message): message
        }
    }
}

// MARK: - Errors

/// GLib's calls, with its errors as ours.
enum GLib {
    typealias ErrorPlace = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

    /// A call that returns an object, or an error.
    static func call(_ body: (ErrorPlace) -> OpaquePointer?) throws -> OpaquePointer {
        guard let answer = try optionalCall(body) else {
            throw KeyStoreError.failure(message: "no answer and no error")
        }
        return answer
    }

    /// A call that returns an object, nothing, or an error.
    static func optionalCall(_ body: (ErrorPlace) -> OpaquePointer?) throws -> OpaquePointer? {
        var error: UnsafeMutablePointer<GError>?
        let answer = body(&error)
        if let error { throw failure(error) }
        return answer
    }
}

/// Translates a GLib error, and frees it.
private func failure(_ error: UnsafeMutablePointer<GError>) -> any Error {
    defer { g_error_free(error) }
    let (domain, code) = (error.pointee.domain, Int(error.pointee.code))
    if domain == g_io_error_quark(), code == G_IO_ERROR_CANCELLED || code == G_IO_ERROR_TIMED_OUT {
        return TimeLimit.Expired()
    }
    if domain == g_io_error_quark(), code == G_IO_ERROR_CLOSED { return KeyStoreError.noBus }
    if domain == secret_error_get_quark(), code == SECRET_ERROR_IS_LOCKED {
        return KeyStoreError.locked(collection: "default")
    }
    let message = String(cString: error.pointee.message)
    if domain == secret_error_get_quark(), code == SECRET_ERROR_NO_SUCH_OBJECT {
        return PassingFailure.objectGone(message: message)
    }
    // Known by the message: libsecret has often removed the name that the service gave the error.
    if domain == secret_error_get_quark() && code == SECRET_ERROR_PROTOCOL
        || message.contains("/org/freedesktop/secrets/session/")
    {
        return PassingFailure.sessionUnusable(message: message)
    }
    if let pointer = g_dbus_error_get_remote_error(error) {
        defer { g_free(pointer) }
        let name = String(cString: pointer)
        // The service is unknown, or can't be started.
        if name == "org.freedesktop.DBus.Error.ServiceUnknown"
            || name == "org.freedesktop.DBus.Error.NameHasNoOwner"
            || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
        {
            return KeyStoreError.noService
        }
        if name == "org.freedesktop.Secret.Error.IsLocked" {
            return KeyStoreError.locked(collection: "default")
        }
        g_dbus_error_strip_remote_error(error)
        // For an object that doesn't exist, GLib's services report that it has no such method.
        if name == "org.freedesktop.Secret.Error.NoSuchObject"
            || name == "org.freedesktop.DBus.Error.UnknownObject"
            || name == "org.freedesktop.DBus.Error.UnknownMethod"
        {
            return PassingFailure.objectGone(message: String(cString: error.pointee.message))
        }
    }
    return KeyStoreError.failure(message: String(cString: error.pointee.message))
}
