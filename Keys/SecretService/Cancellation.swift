import CLibSecret

/// Cancels a GLib call.
///
/// `@unchecked` because a GCancellable may be used from any thread
/// (https://docs.gtk.org/gio/class.Cancellable.html), and this has no other state.
final class Cancellation: @unchecked Sendable {
    let pointer: OpaquePointer

    init() {
        pointer = g_cancellable_new()
    }

    deinit {
        g_object_unref(UnsafeMutableRawPointer(pointer))
    }

    func cancel() {
        g_cancellable_cancel(pointer)
    }
}
