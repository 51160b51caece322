import Foundation
import GRDB

extension Database {
    /// How many bytes of the write-ahead log are in use; 0 without a log. Its file may be larger.
    ///
    /// The number of frames is in the index that all connections share.
    /// <https://www.sqlite.org/walformat.html#the_wal_index_header>
    func bytesInLog() throws -> Int {
        guard try journalMode == "wal", let path = filePath,
            let index = FileHandle(forReadingAtPath: path + "-shm")
        else { return 0 }
        defer { try? index.close() }
        // Both copies are the same unless one is being written.
        let size = 48
        guard let header = try index.read(upToCount: 2 * size), header.count == 2 * size,
            header.prefix(size).elementsEqual(header.suffix(size))
        else { return 0 }
        let frames = header[16..<20].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        let pageSize = try Int.fetchOne(self, sql: "PRAGMA main.page_size") ?? 0
        return Int(frames) * (pageSize + 24)
    }
}
