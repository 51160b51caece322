import CLibSecret

/// One reference to a GLib object. It is released together with this.
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
