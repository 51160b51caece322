import CSQLCipher
import MigrationKitCommon
import MigrationKitPages
import Foundation
import KeyStore

/// Pages of a database that are not as they were written and that nothing is lost with, because
/// they are free.
///
/// A copy of pages copies the free ones as well, and SQLCipher gives none that it can't authenticate.
/// So a connection gets empty pages in their place.
final class UnusedPages {
    private let numbers: Set<Int>
    private let pageSize: Int
    private let reservedCount: Int
    private let substitutes: PageSubstitutes

    /// - Returns: `nil` if every page is as it was written, or if that can't be checked.
    /// - Throws: ``EncryptedDatabaseError`` if the file can't be read.
    init?(of file: DatabaseFile, _ form: DatabaseForm) throws {
        guard case .encrypted(let key, let settings) = form.content else { return nil }
        let inspection = try FileInspection(file, cipher: settings)
        let numbers = try Set(inspection.damagedPages(form, limit: .max))
        guard !numbers.isEmpty,
            let substitutes = try PageSubstitutes(
                for: numbers,
                key: inspection.derive(key),
                salt: inspection.salt,
                cipher: settings
            )
        else { return nil }
        self.numbers = numbers
        self.substitutes = substitutes
        pageSize = settings.pageSize
        reservedCount = settings.reservedCount
    }

    /// Gives a connection empty pages in their place, if no table and no index uses one of them. If
    /// the list of free pages is in one of them, it is rebuilt.
    ///
    /// - Parameter connection: One in a transaction, which has read no damaged page so far.
    /// - Returns: Whether they are unused.
    func leaveOut(on connection: OpaquePointer?) throws -> Bool {
        guard areUnused(on: connection) else { return false }
        try substitutes.attach(to: connection, locks: .own, keepsSharedMemory: true)
        return completeFreeList(on: connection)
    }

    /// Whether all that belongs to tables and indexes can be read: SQLCipher gives none of these pages,
    /// and SQLite doesn't look at the free ones when it checks a table.
    private func areUnused(on connection: OpaquePointer?) -> Bool {
        let named = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"
        guard let tables = Self.texts(named, on: connection),
            let vacuum = Self.texts("PRAGMA main.auto_vacuum", on: connection),
            vacuum == ["0"] || !numbers.contains(where: isPointerMap)
        else { return false }
        for table in tables {
            let name = table.replacingOccurrences(of: "'", with: "''")
            let check = "PRAGMA main.quick_check('\(name)')"
            guard let findings = Self.texts(check, on: connection),
                findings.allSatisfy({ $0 == "ok" || !DatabaseCopy.isDamage($0) })
            else { return false }
        }
        // SQLCipher gives a page that it can't authenticate as zeros, and an error with the next one.
        return Self.texts("SELECT max(sql) FROM main.sqlite_schema", on: connection) != nil
    }

    /// Whether a page may be one of those that say what the others are for, if the database vacuums
    /// itself. <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>
    private func isPointerMap(_ number: Int) -> Bool {
        // No page is where SQLite's locks are. One that would be comes behind.
        let lockPage = (1 << 30) / pageSize + 1
        let place = number == lockPage + 1 ? lockPage : number
        return place > 1 && (place - 2) % ((pageSize - reservedCount) / 5 + 1) == 0
    }

    /// Puts the pages that no list names any more into the page at which the list ends.
    ///
    /// A page of the list names free pages and the next page of the list. If it is damaged, it reads as
    /// empty here, and the list ends with it. The pages that SQLite then finds unused are the rest of
    /// the list. <https://www.sqlite.org/fileformat.html#the_freelist>
    ///
    /// - Returns: Whether that accounts for every page.
    private func completeFreeList(on connection: OpaquePointer?) -> Bool {
        let count = Self.texts("PRAGMA main.page_count", on: connection)?.first
        guard let pageCount = count.flatMap({ Int($0) }) else { return false }
        // Those of the list are the ones that are read from here on.
        substitutes.readPages = []
        let check = "PRAGMA main.quick_check(\(pageCount + 20))"
        guard let findings = Self.texts(check, on: connection) else { return false }
        var (lost, missing) = ([Int](), 0)
        for line in findings.flatMap({ $0.split(separator: "\n") }) {
            if let match = line.wholeMatch(of: /Page (\d+)(?::| is) never used/) {
                lost.append(Int(match.1) ?? 0)
            } else if let match = line.wholeMatch(
                of: /(?:Main f|F)reelist: size is (\d+) but should be (\d+)/
            ) {
                missing = (Int(match.2) ?? 0) - (Int(match.1) ?? 0)
            } else if line != "ok", line != "*** in database main ***",
                DatabaseCopy.isDamage(String(line))
            {
                return false
            }
        }
        guard missing == lost.count else { return false }
        guard !lost.isEmpty else { return true }
        guard substitutes.readPages.count == 1, var page = substitutes.readPages.first else {
            return false
        }
        // SQLite itself leaves a few places free, for its releases before 3.6.0.
        let capacity = (pageSize - reservedCount) / 4 - 8
        var rest = lost[...]
        while true {
            let named = rest.prefix(capacity)
            rest = rest.dropFirst(named.count)
            let next = rest.popFirst()
            substitutes.contents[page] = ([next ?? 0, named.count] + named).flatMap { number in
                [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
            }
            guard let next else { break }
            page = next
        }
        // What the check has read is kept otherwise.
        sqlite3_db_release_memory(connection)
        return true
    }

    /// The first column of a statement's rows; `nil` if it doesn't come to its end.
    private static func texts(_ sql: String, on connection: OpaquePointer?) -> [String]? {
        let (texts, code) = CipherConnection.column(sql, on: connection)
        return code == .done ? texts : nil
    }
}

extension DatabaseCopy {
    /// Fills the file; once more without the pages that nothing is lost with, if a page that can't be
    /// authenticated keeps it from being filled.
    ///
    /// - Parameter fill: Fills the file. Gets the pages to leave out of a new connection to the source.
    /// - Returns: What `fill` returns.
    func fillLeavingOutUnused<Value>(
        of file: DatabaseFile,
        _ form: DatabaseForm,
        _ fill: (UnusedPages?) throws -> Value
    ) throws -> Value {
        do {
            return try fill(nil)
        } catch PageFailure.source(let code) where !code.isReadFailure {
            guard let unused = try UnusedPages(of: file, form) else {
                throw PageFailure.source(code)
            }
            guard truncate(path, 0) == 0 else { throw NewFileError(path, errno) }
            return try fill(unused)
        }
    }
}
