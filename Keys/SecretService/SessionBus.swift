import CLibSecret
import MigrationKitKeys
import MigrationKitCommon

/// An argument of a call on the bus.
enum BusValue {
    case string(String)
    case integer(Int32)
    case integer64(Int64)
    case boolean(Bool)
    /// The index of a descriptor in those that the call passes on.
    case descriptor(Int32)
    /// Options or properties by their names.
    case strings([String: String])
    /// The paths of objects.
    case paths([String])

    /// A new GVariant. The call that it is passed to frees it.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .string(let text): g_variant_new_string(text)
        case .integer(let number): g_variant_new_int32(number)
        case .integer64(let number): g_variant_new_int64(number)
        case .boolean(let value): g_variant_new_boolean(value ? 1 : 0)
        case .descriptor(let index): g_variant_new_handle(index)
        case .strings(let values): Self.dictionary(values)
        case .paths(let paths): Self.array(of: "o", paths.map { g_variant_new_object_path($0) })
        }
    }

    private static func dictionary(_ values: [String: String]) -> OpaquePointer? {
        let entries = values.map { name, value in
            g_variant_new_dict_entry(
                g_variant_new_string(name),
                g_variant_new_variant(g_variant_new_string(value))
            )
        }
        return array(of: "{sv}", entries)
    }

    private static func array(of type: String, _ elements: [OpaquePointer?]) -> OpaquePointer? {
        // A type is the text that names it.
        // https://docs.gtk.org/glib/struct.VariantType.html
        type.withCString { g_variant_new_array(OpaquePointer($0), elements, UInt(elements.count)) }
    }
}

/// What a call on the bus returned.
struct BusAnswer {
    /// The strings and the paths of objects, also those in arrays and variants.
    private(set) var strings: [String] = []
    /// The numbers; a truth value is 1 or 0.
    private(set) var integers: [Int32] = []

    init(_ variant: OpaquePointer) {
        collect(variant)
    }

    private mutating func collect(_ variant: OpaquePointer) {
        switch g_variant_get_type_string(variant).map({ String(cString: $0) }) {
        case "s", "o":
            if let text = g_variant_get_string(variant, nil) {
                strings.append(String(cString: text))
            }
        case "i": integers.append(g_variant_get_int32(variant))
        case "u": integers.append(Int32(truncatingIfNeeded: g_variant_get_uint32(variant)))
        case "b": integers.append(g_variant_get_boolean(variant))
        case let type? where type == "v" || type.hasPrefix("(") || type.hasPrefix("a"):
            for index in 0..<g_variant_n_children(variant) {
                guard let child = g_variant_get_child_value(variant, index) else { continue }
                defer { g_variant_unref(child) }
                collect(child)
            }
        default: break
        }
    }
}

/// The session bus.
struct SessionBus {
    let connection: GObjectReference
    let cancellation: GLibCancellation

    /// The connection, which stays as long as the process. GLib would close one that nobody has, and
    /// KeePassXC allows access to an item for a connection.
    private static let kept = Locked<GObjectReference?>(nil)

    /// - Throws: ``KeyStoreError/noBus``; ``TimeLimit/Expired``.
    init(cancellation: GLibCancellation) throws {
        self.cancellation = cancellation
        Self.kept.withLock { kept in
            if let bus = kept, g_dbus_connection_is_closed(bus.pointer) != 0 { kept = nil }
        }
        do {
            connection = GObjectReference(
                owned: try GLib.call {
                    g_bus_get_sync(Int32(G_BUS_TYPE_SESSION), cancellation.pointer, $0)
                }
            )
        } catch is KeyStoreError {
            throw KeyStoreError.noBus
        }
        // Otherwise GLib ends the process when the bus goes away.
        g_dbus_connection_set_exit_on_close(connection.pointer, 0)
        Self.kept.withLock { [connection] in $0 = connection }
    }

    /// Calls a method of a program on the bus, and waits for its answer, or for the end of the call
    /// if it has none.
    ///
    /// - Parameters:
    ///   - method: The interface's name and the method's.
    ///   - descriptors: What is passed on to the program. They are closed when this returns.
    ///   - starts: Whether the bus may start the program.
    /// - Throws: ``KeyStoreError``; ``TimeLimit/Expired``.
    func call(
        _ program: String,
        _ path: String,
        _ method: String,
        _ arguments: [BusValue],
        descriptors: [Int32] = [],
        starts: Bool = false
    ) throws -> BusAnswer {
        let dot = method.lastIndex(of: ".") ?? method.startIndex
        let values = arguments.map(\.variant)
        let list = g_unix_fd_list_new_from_array(descriptors, Int32(descriptors.count))
            .map(GObjectReference.init(owned:))
        let answer = try GLib.call {
            g_dbus_connection_call_with_unix_fd_list_sync(
                connection.pointer,
                program,
                path,
                String(method[..<dot]),
                String(method[method.index(after: dot)...]),
                g_variant_new_tuple(values, UInt(values.count)),
                nil,
                starts ? 0 : UInt32(G_DBUS_CALL_FLAGS_NO_AUTO_START),
                -1,
                list?.pointer,
                nil,
                cancellation.pointer,
                $0
            )
        }
        defer { g_variant_unref(answer) }
        return BusAnswer(answer)
    }
}

/// The signals of one kind that arrive on the bus.
final class BusSignals {
    /// The arguments of the latest signal of each object, by its path.
    private(set) var latest: [String: BusAnswer] = [:]

    private let bus: SessionBus
    private let context: OpaquePointer?
    private var subscription: UInt32 = 0

    /// Receives signals from now on, on this thread, which must also release this.
    ///
    /// - Parameter name: The signal's name, which `interface` doesn't contain.
    init(_ bus: SessionBus, of program: String, _ interface: String, _ name: String) {
        self.bus = bus
        context = g_main_context_new()
        g_main_context_push_thread_default(context)
        subscription = g_dbus_connection_signal_subscribe(
            bus.connection.pointer,
            program,
            interface,
            name,
            nil,
            nil,
            0,
            { _, _, path, _, _, arguments, data in
                guard let path, let arguments, let data else { return }
                Unmanaged<BusSignals>.fromOpaque(data).takeUnretainedValue()
                    .latest[String(cString: path)] = BusAnswer(arguments)
            },
            Unmanaged.passUnretained(self).toOpaque(),
            nil
        )
    }

    deinit {
        g_dbus_connection_signal_unsubscribe(bus.connection.pointer, subscription)
        receive()
        g_main_context_pop_thread_default(context)
        g_main_context_unref(context)
    }

    /// Receives what has arrived.
    func receive() {
        while g_main_context_iteration(context, 0) != 0 {}
    }
}
