import CLibSecret

/// What ends a call of GLib's before it is done.
///
/// @unchecked because a GCancellable may be used from any thread
/// (https://docs.gtk.org/gio/class.Cancellable.html), and nothing else is in here.
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
