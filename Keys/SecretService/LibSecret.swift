import CLibSecret
import MigrationKitKeys
import MigrationKitCommon

/// The libsecret library.
enum LibSecret {
    private static let failure: String? = clibsecret_load().map { String(cString: $0) }

    /// Loads the library, unless it is loaded. Call it before any other function of `CLibSecret`.
    ///
    /// - Throws: ``KeyStoreError/noLibrary(reason:)``.
    static func load() throws {
        if let failure { throw KeyStoreError.noLibrary(reason: failure) }
    }
}

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

/// Cancels a GLib call.
///
/// `@unchecked` because a GCancellable may be used from any thread
/// (https://docs.gtk.org/gio/class.Cancellable.html), and the other state has a lock.
final class GLibCancellation: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Whether a person is being asked, who may take longer than a program.
    let isAsking = Locked(false)

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

/// Runs blocking GLib calls with a time limit.
enum TimeLimit {
    /// The work was cancelled, or the bus gave up waiting.
    struct Expired: Error {}

    /// Runs the work on its own thread.
    ///
    /// At the limit, the work is cancelled. It gets a second to end, and is then abandoned.
    ///
    /// - Parameters:
    ///   - limit: How long the work may take. While a person is asked, no time passes.
    ///   - questionLimit: How long a person may take to answer; `nil` for any time.
    ///   - isCancelled: Ends the work before the limit in the same way, once it returns true.
    ///   - work: The work.
    /// - Throws: ``KeyStoreError/noLibrary(reason:)``; ``KeyStoreError/timedOut(seconds:)`` at the
    ///   limit; a `CancellationError`; what the work throws.
    static func run<Value: Sendable>(
        _ limit: Duration,
        questionLimit: Duration? = nil,
        endingWhen isCancelled: () -> Bool = { false },
        _ work: @escaping @Sendable (GLibCancellation) throws -> Value
    ) throws -> Value {
        try LibSecret.load()
        let cancellation = GLibCancellation()
        let clock = ContinuousClock()
        let call = WorkAlongside { try work(cancellation) }
        var result: Result<Value, any Error>?
        // The program's time goes on after an answer. Each question has its own.
        var (worked, asked) = (Duration.zero, Duration.zero)
        var last = clock.now
        while result == nil, worked < limit, questionLimit.map({ asked < $0 }) ?? true,
            !isCancelled()
        {
            let isAsking = cancellation.isAsking.withLock { $0 }
            let rest = isAsking ? questionLimit.map { $0 - asked } : limit - worked
            result = call.result(within: min(rest ?? .milliseconds(50), .milliseconds(50)))
            let passed = last.duration(to: clock.now)
            last = last + passed
            if isAsking { asked += passed } else { (worked, asked) = (worked + passed, .zero) }
        }
        if result == nil {
            cancellation.cancel()
            result = call.result(within: .seconds(1))
        }
        do {
            guard let result else { throw Expired() }
            return try result.get()
        } catch is Expired {
            if isCancelled() { throw CancellationError() }
            // The bus has its own limits, so the elapsed time is reported, not the allowed time.
            let passed =
                (asked == .zero ? min(worked, limit) : min(asked, questionLimit ?? asked)).seconds
            throw KeyStoreError.timedOut(seconds: (passed * 10).rounded() / 10)
        }
    }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
