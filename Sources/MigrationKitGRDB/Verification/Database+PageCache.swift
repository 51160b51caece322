import GRDB

extension Database {
    /// The size of the database, in bytes.
    func byteCount() throws -> Int {
        try pageCount() * pageSize()
    }

    /// Lets the connection keep as many pages as it may, while `body` runs.
    ///
    /// `quick_check` reads all pages twice, first the trees and then the rows of each table. Whatever
    /// of the pages is not kept for the second time has to be decrypted and authenticated again. The
    /// cache gives up the page that was used the longest ago, so that one that doesn't hold all of them
    /// has lost each when its second time comes; then a small one is as good.
    ///
    /// - Parameter limit: The most that it takes, in bytes.
    func withPageCache<Value>(of limit: Int, _ body: () throws -> Value) throws -> Value {
        // Where these can't be read, `body` finds out why.
        guard let before = try? Int.fetchOne(self, sql: "PRAGMA main.cache_size"),
            let pageSize = try? pageSize(), let pageCount = try? pageCount()
        else { return try body() }
        // What SQLite adds to each page is less than this.
        let pageCost = pageSize + 512
        let count = pageCount * pageCost <= limit ? pageCount : min(limit, 32 << 20) / pageCost
        let current = before < 0 ? -before * 1024 / pageCost : before
        guard count > current else { return try body() }
        try execute(sql: "PRAGMA main.cache_size = \(count)")
        defer { try? execute(sql: "PRAGMA main.cache_size = \(before)") }
        return try body()
    }

    private func pageSize() throws -> Int {
        try Int.fetchOne(self, sql: "PRAGMA main.page_size") ?? 0
    }

    private func pageCount() throws -> Int {
        try Int.fetchOne(self, sql: "PRAGMA main.page_count") ?? 0
    }
}
