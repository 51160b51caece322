import CLibSecret

/// An argument of a call on the bus.
enum BusValue {
    case string(String)
    case integer(Int32)
    case integer64(Int64)
    case boolean(Bool)

    /// A new GVariant. The call that it is passed to frees it.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .string(let text): g_variant_new_string(text)
        case .integer(let number): g_variant_new_int32(number)
        case .integer64(let number): g_variant_new_int64(number)
        case .boolean(let value): g_variant_new_boolean(value ? 1 : 0)
        }
    }
}

/// What a call on the bus returned.
struct BusAnswer {
    /// The strings, also those in arrays.
    private(set) var strings: [String] = []
    /// The numbers; a truth value is 1 or 0.
    private(set) var integers: [Int32] = []

    fileprivate init(_ variant: OpaquePointer) {
        collect(variant)
    }

    private mutating func collect(_ variant: OpaquePointer) {
        switch g_variant_get_type_string(variant).map({ String(cString: $0) }) {
        case "s":
            if let text = g_variant_get_string(variant, nil) {
                strings.append(String(cString: text))
            }
        case "i": integers.append(g_variant_get_int32(variant))
        case "b": integers.append(g_variant_get_boolean(variant))
        case let type? where type.hasPrefix("(") || type.hasPrefix("a"):
            for index in 0..<g_variant_n_children(variant) {
                guard let child = g_variant_get_child_value(variant, index) else { continue }
                defer { g_variant_unref(child) }
                collect(child)
            }
        default: break
        }
    }
}

extension ServiceConnection {
    /// Calls a method of a program on the bus, and waits for its answer, or for the end of the call
    /// if it has none.
    ///
    /// - Parameter method: The interface's name and the method's.
    /// - Throws: ``KeyStoreError``; ``TimeLimit/Expired``.
    func call(
        _ program: String,
        _ path: String,
        _ method: String,
        _ arguments: [BusValue]
    ) throws -> BusAnswer {
        let dot = method.lastIndex(of: ".") ?? method.startIndex
        let values = arguments.map(\.variant)
        let answer = try GLib.call {
            g_dbus_connection_call_sync(
                bus.pointer,
                program,
                path,
                String(method[..<dot]),
                String(method[method.index(after: dot)...]),
                g_variant_new_tuple(values, UInt(values.count)),
                nil,
                UInt32(G_DBUS_CALL_FLAGS_NO_AUTO_START),
                -1,
                cancellation.pointer,
                $0
            )
        }
        defer { g_variant_unref(answer) }
        return BusAnswer(answer)
    }
}
