import Synchronization

/// Remembers which database a command works on: an error of SQLite's doesn't say.
final class DatabaseNote: Sendable {
    private let path = Mutex<String?>(nil)

    func note(_ path: String?) {
        self.path.withLock { $0 = path }
    }

    var noted: String? {
        path.withLock { $0 }
    }
}
