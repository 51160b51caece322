import CSQLCipher
import Synchronization

/// A limit for all of SQLite's memory, as the hard heap limit is one. That needs statistics, and so a lock
/// for each piece of memory: on two threads, half of the time would go into waiting for it.
/// <https://www.sqlite.org/c3ref/hard_heap_limit64.html>
enum SQLiteMemoryLimit {
    /// To be called once, before SQLite is used.
    static func set(bytes: Int) {
        bytesLeft.store(bytes, ordering: .relaxed)
        var methods = allocator
        methods.xMalloc = { size in
            guard let piece = SQLiteMemoryLimit.allocator.xMalloc(size) else { return nil }
            if SQLiteMemoryLimit.take(SQLiteMemoryLimit.allocator.xSize(piece)) { return piece }
            SQLiteMemoryLimit.allocator.xFree(piece)
            return nil
        }
        methods.xFree = { piece in
            SQLiteMemoryLimit.give(SQLiteMemoryLimit.allocator.xSize(piece))
            SQLiteMemoryLimit.allocator.xFree(piece)
        }
        methods.xRealloc = { piece, size in
            let former = SQLiteMemoryLimit.allocator.xSize(piece)
            let more = max(size - former, 0)
            guard SQLiteMemoryLimit.take(more) else { return nil }
            let moved = SQLiteMemoryLimit.allocator.xRealloc(piece, size)
            SQLiteMemoryLimit.give(
                moved.map { former + more - SQLiteMemoryLimit.allocator.xSize($0) } ?? more
            )
            return moved
        }
        _ = csqlcipher_set_allocator(&methods)
    }

    /// SQLite's own.
    nonisolated(unsafe) private static let allocator: sqlite3_mem_methods = {
        var methods = sqlite3_mem_methods()
        _ = csqlcipher_get_allocator(&methods)
        return methods
    }()

    private static let bytesLeft = Atomic(0)

    private static func take(_ count: Int32) -> Bool {
        if bytesLeft.subtract(Int(count), ordering: .relaxed).newValue >= 0 { return true }
        give(count)
        return false
    }

    private static func give(_ count: Int32) {
        bytesLeft.add(Int(count), ordering: .relaxed)
    }
}
