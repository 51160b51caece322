import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher

/// What is wrong with a state of the disk.
package struct Fault: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Opens what a power cut left as the next launch opens it, and says what it holds.
package struct Judge {
    private let scenario: Scenario
    private let place: Place
    /// The folder of the state that is judged; in memory, since there are many.
    package let folder: String
    private let keys: [String: DatabaseKey]
    /// Opening as the library does, or by SQLCipher alone: for what the library refuses.
    private let byLibrary: Bool

    package init(_ scenario: Scenario, _ place: Place, folder: String, byLibrary: Bool = true)
        throws
    {
        self.scenario = scenario
        self.place = place
        self.folder = folder
        self.byLibrary = byLibrary
        keys = [
            "password": try place.key("password"), "new-password": try place.key("new-password"),
        ]
    }

    /// What a state holds, in words that are the same for the same content.
    ///
    /// - Parameters:
    ///   - files: The state.
    ///   - keyStore: What the key store holds.
    /// - Throws: If it can't be opened, fails a check, or leaves files that nothing will remove.
    package func version(of files: [String: [UInt8]], keyStore: [UInt8]) throws -> String {
        try Place.fill(folder, files)
        var words: [String] = []
        for watched in scenario.watched {
            let content =
                switch watched.kind {
                case .text: try text(watched)
                case .database: try database(watched)
                case .store: try store(watched, keyStore)
                }
            words.append("\(watched.name): \(content)")
        }
        if byLibrary { try checkLeftovers() }
        return words.joined(separator: ", ")
    }

    // MARK: - Files

    private func text(_ watched: Scenario.Watched) throws -> String {
        guard let data = FileManager.default.contents(atPath: folder + "/" + watched.name) else {
            return "absent"
        }
        return "\(data.count) bytes #\(digest { $0.combine(data) })"
    }

    private func database(_ watched: Scenario.Watched) throws -> String {
        let path = folder + "/" + watched.name
        guard FileManager.default.fileExists(atPath: path) else { return "absent" }
        var refusals: [String] = []
        for opening in watched.openings {
            do {
                let queue = try open(path, opening)
                defer { try? queue.close() }
                let content = try content(of: queue, isEncrypted: opening.key != nil)
                return "\(opening.label) \(content)"
            } catch EncryptedDatabaseError.wrongKey, EncryptedDatabaseError.plaintext,
                EncryptedDatabaseError.encrypted, EncryptedDatabaseError.olderFormat
            {
                refusals.append("\(opening.label) does not open it")
            } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
                refusals.append("\(opening.label) does not open it")
            } catch let error as Fault {
                throw error
            } catch {
                throw Fault("\(watched.name): \(words(error))")
            }
        }
        throw Fault("\(watched.name): \(refusals.joined(separator: ", "))")
    }

    private func open(_ path: String, _ opening: Scenario.Opening) throws -> DatabaseQueue {
        let options = EncryptedDatabase.Options(
            createsFile: true,
            cipher: try opening.cipherVersion.map(CipherSettings.sqlCipher) ?? .current
        )
        let key = opening.key.flatMap { keys[$0] }
        guard byLibrary else {
            guard let key else { return try DatabaseQueue(path: path) }
            return try DatabaseQueue(
                path: path,
                configuration: EncryptedDatabase.configuration(key: key, options: options)
            )
        }
        guard let key else { return try EncryptedDatabase.openPlaintext(path, options: options) }
        return try EncryptedDatabase.open(path, key: key, options: options)
    }

    /// Launches the app as it is launched next, and looks which of the keys the file has then.
    private func store(_ watched: Scenario.Watched, _ keyStore: [UInt8]) throws -> String {
        let path = folder + "/" + watched.name
        // A pending key's item names the file's path.
        let items = String(decoding: keyStore, as: UTF8.self).replacing(place.disk, with: folder)
        let keyStore = try RecordedKeyStore(Array(items.utf8))
        let queue: DatabaseQueue
        do {
            queue = try EncryptedStore(
                path: path,
                keyStore: keyStore,
                service: Place.service,
                account: Place.account,
                launchTimeout: 0
            ).open()
        } catch {
            throw Fault("\(watched.name): \(words(error))")
        }
        defer { try? queue.close() }
        let key = try keyStore.key(service: Place.service, account: Place.account)
        let pending = try keyStore.items(service: nil, account: nil).filter {
            $0.service.contains("pending")
        }
        if !pending.isEmpty { throw Fault("a pending item is left") }
        let label = key == keys["password"] ? "the first key" : "another key"
        return try "\(label) \(content(of: queue, isEncrypted: true))"
    }

    private func words(_ error: any Error) -> String {
        "\(type(of: error)): \(error)".replacing(folder + "/", with: "")
    }

    // MARK: - Content

    /// The rows of every table and the text of the schema, after all checks.
    private func content(of queue: DatabaseQueue, isEncrypted: Bool) throws -> String {
        try queue.inDatabase { db in
            // The integrity check of SQLCipher reads the main file alone.
            _ = try Row.fetchAll(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            let quickCheck = try String.fetchAll(db, sql: "PRAGMA quick_check")
            if quickCheck != ["ok"] { throw Fault("quick_check: \(quickCheck)") }
            let foreignKeys = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check")
            if !foreignKeys.isEmpty { throw Fault("foreign_key_check: \(foreignKeys.count) rows") }
            if isEncrypted { try checkPages(db) }
            let schema = try Row.fetchAll(
                db,
                sql: "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
            )
            if schema.isEmpty { return "nothing" }
            var rowCount = 0
            var hasher = Hasher()
            for object in schema {
                hasher.combine(object["name"] as String)
                hasher.combine(object["sql"] as String?)
                guard object["type"] == "table" else { continue }
                let name = (object["name"] as String).quotedDatabaseIdentifier
                // When something was applied, and how long it took, is another time in each run. The
                // record of the schema saves work later, and a run that fails leaves it out.
                let rows = try Row.fetchCursor(
                    db,
                    sql: object["name"] == "grdb_migrationkit_journal"
                        ? """
                        SELECT identifier, event, checksum FROM \(name)
                        WHERE event <> 'schema' ORDER BY id
                        """
                        : "SELECT rowid, * FROM \(name)"
                )
                while let row = try rows.next() {
                    rowCount += 1
                    for value in row.databaseValues { hasher.combine(value) }
                }
            }
            // Which step the content is after is the first thing that one wants to know.
            let name = "grdb_migrations"
            let steps =
                try db.tableExists(name)
                ? String.fetchAll(db, sql: "SELECT substr(identifier, 4, 1) FROM \(name)") : []
            return "[\(schema.count) objects, \(rowCount) rows, steps \(steps.joined())] "
                + "#\(String(UInt32(truncatingIfNeeded: hasher.finalize()), radix: 36))"
        }
    }

    /// Every page must be authentic, but for those that hold nothing.
    ///
    /// `quick_check` has read all pages that are in use. What is left are the free pages that no
    /// other page's content is needed for: SQLite doesn't write them to the journal before it uses
    /// them again, and so a cut may leave them torn; and what lies behind the database's end.
    private func checkPages(_ db: Database) throws {
        let pages = try String.fetchAll(db, sql: "PRAGMA cipher_integrity_check")
        guard !pages.isEmpty else { return }
        let unused = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
        let end = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        let within = pages.filter { page in
            Int(page.split(separator: " ").last ?? "").map { $0 <= end } ?? true
        }
        guard within.count <= unused else { throw Fault("cipher_integrity_check: \(pages)") }
    }

    private func digest(_ body: (inout Hasher) -> Void) -> String {
        var hasher = Hasher()
        body(&hasher)
        return String(UInt32(truncatingIfNeeded: hasher.finalize()), radix: 36)
    }

    // MARK: - What is left

    /// Throws if there is a file that neither belongs to a database nor is named by `inspect`.
    private func checkLeftovers() throws {
        var known: Set<String> = []
        for watched in scenario.watched {
            let suffixes = [
                "", "-wal", "-shm", "-journal", "-migration.lock", "-launch.lock", "-sealed-keys",
                "-key-record",
            ]
            known.formUnion(suffixes.map { watched.name + $0 })
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let others = Set(names).subtracting(known).subtracting(scenario.others)
        guard !others.isEmpty else { return }
        var named: Set<String> = []
        for watched in scenario.watched where watched.kind != .text {
            let report = try? EncryptedDatabase.inspect(
                folder + "/" + watched.name,
                checksPages: false
            )
            for file in report?.leftovers ?? [] {
                named.insert(URL(fileURLWithPath: file.path).lastPathComponent)
            }
        }
        let unnamed = others.filter { name in
            !named.contains(name) && !named.contains { name.hasPrefix($0 + "-") }
        }
        // A run that makes a new file removes what an earlier one left, before it begins.
        let removed = unnamed.filter { name in
            scenario.watched.contains { watched in
                name.hasPrefix(".\(watched.name)-key-record-writing-")
                    || watched.isNew
                        && ["converting", "writing"].contains {
                            name.hasPrefix(".\(watched.name)-\($0)-")
                        }
            }
        }
        guard unnamed.count == removed.count else {
            throw Fault("left: \(unnamed.subtracting(removed).sorted())")
        }
    }
}
