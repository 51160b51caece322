import CLibSecret

/// One reference to an object of GLib's, given back with this one.
final class GObjectReference {
    let pointer: OpaquePointer

    /// Takes over a reference that the caller owns.
    init(owned pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        g_object_unref(UnsafeMutableRawPointer(pointer))
    }
}
