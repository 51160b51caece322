import CKeyStore
import Glibc

/// A pipe whose ends no other program inherits. Each end is closed at most once.
final class Pipe {
    private(set) var read: Int32
    private(set) var write: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard ckeystore_pipe(&ends) == 0 else {
            throw KeySourceError.unreadable(source: "a pipe", code: errno)
        }
        read = ends[0]
        write = ends[1]
    }

    deinit {
        closeReadEnd()
        closeWriteEnd()
    }

    func closeReadEnd() {
        if read >= 0 { close(read) }
        read = -1
    }

    func closeWriteEnd() {
        if write >= 0 { close(write) }
        write = -1
    }
}
