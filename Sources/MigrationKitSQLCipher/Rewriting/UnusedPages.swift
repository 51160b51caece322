import CSQLCipher
import MigrationKitPages
import Foundation
import MigrationKitKeys
import MigrationKitGRDB

/// Damaged pages of a database that are free, so that no content is lost with them.
///
/// A copy of pages includes the free ones. It gets empty pages instead of the damaged ones.
final class UnusedPages {
    private let numbers: Set<Int>
    private let pageSize: Int
    private let reservedCount: Int
    private let substitutes: PageSubstitutes

    /// - Returns: `nil` if no page is damaged, or if that can't be checked.
    /// - Throws: ``EncryptedDatabaseError`` if the file can't be read.
    init?(of file: DatabaseFile, _ form: DatabaseForm) throws {
        guard case .encrypted(let key, let settings) = form.content else { return nil }
        let inspection = try FileInspection(file.look(), cipher: settings)
        let numbers = try Set(inspection.damagedPages(form, limit: .max))
        guard !numbers.isEmpty,
            let substitutes = try PageSubstitutes(
                for: numbers,
                key: inspection.derive(key),
                salt: inspection.salt(with: key),
                cipher: settings
            )
        else { return nil }
        self.numbers = numbers
        self.substitutes = substitutes
        pageSize = settings.pageSize
        reservedCount = settings.reservedCount
    }

    /// What the copy gets instead of the pages, once it is known that they are unused.
    var substituted: PageRewriting.Substitutes {
        var substituted = PageRewriting.Substitutes()
        substituted.contents = substitutes.contents
        substituted.empty = numbers
        return substituted
    }

    /// Checks that no table and no index uses the damaged pages. If the freelist itself is damaged, it
    /// is rebuilt.
    ///
    /// - Parameter connection: In a transaction. It must not have read a damaged page yet.
    /// - Throws: ``PageRewritingError/damaged(_:)`` if the pages are used.
    func leaveOut(on connection: OpaquePointer?) throws {
        guard areUnused(on: connection) else { throw damage }
        try substitutes.attach(to: connection, locks: .own, keepsSharedMemory: true)
        defer { substitutes.isActive = false }
        guard completeFreeList(on: connection) else { throw damage }
    }

    private var damage: PageRewritingError { .damaged(numbers.sorted()) }

    /// Whether everything in tables and indexes can be read. SQLCipher can't read the damaged
    /// pages, and SQLite doesn't read free ones when it checks a table.
    private func areUnused(on connection: OpaquePointer?) -> Bool {
        let named = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"
        guard let tables = Self.texts(named, on: connection),
            let vacuum = Self.texts("PRAGMA main.auto_vacuum", on: connection),
            vacuum == ["0"] || !numbers.contains(where: isPointerMap)
        else { return false }
        for table in tables {
            let check = "PRAGMA main.quick_check(\(table.sqlString))"
            guard let findings = Self.texts(check, on: connection),
                findings.allSatisfy({ $0 == "ok" || !DatabaseCopy.isDamage($0) })
            else { return false }
        }
        return CipherConnection.readsAuthenticPages(on: connection)
    }

    /// Whether a page may be a pointer map, which a database with `auto_vacuum` has.
    /// <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>
    private func isPointerMap(_ number: Int) -> Bool {
        // SQLite doesn't use the page with its lock bytes. A pointer map that belongs there comes
        // after it.
        let lockPage = DatabaseHeader.lockPage(pageSize: pageSize)
        let place = number == lockPage + 1 ? lockPage : number
        return place > 1 && (place - 2) % ((pageSize - reservedCount) / 5 + 1) == 0
    }

    /// Adds the free pages that are missing from the freelist to the page where it ends.
    ///
    /// A page of the freelist names free pages and the next page of the list. A damaged one reads
    /// as empty here, so the list ends with it. The pages that SQLite then reports as never used
    /// are the rest of the list. <https://www.sqlite.org/fileformat.html#the_freelist>
    ///
    /// - Returns: Whether this accounts for every page.
    private func completeFreeList(on connection: OpaquePointer?) -> Bool {
        let count = Self.texts("PRAGMA main.page_count", on: connection)?.first
        guard let pageCount = count.flatMap({ Int($0) }) else { return false }
        // From here on, the damaged pages that are read belong to the freelist.
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
        // SQLite itself leaves a few entries unused, for its releases before 3.6.0.
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
        // Otherwise the pages that the check has read stay cached.
        sqlite3_db_release_memory(connection)
        return true
    }

    /// The first column of a statement's rows; `nil` if the statement fails.
    private static func texts(_ sql: String, on connection: OpaquePointer?) -> [String]? {
        let (texts, code) = CipherConnection.column(sql, on: connection)
        return code == .done ? texts : nil
    }
}
