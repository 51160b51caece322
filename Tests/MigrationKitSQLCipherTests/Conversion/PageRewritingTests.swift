import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// Where the settings stay, pages are copied as they are, by us and not by SQLite.
@Suite struct PageRewritingTests {
    private let folder: TemporaryFolder
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
    }

    // MARK: - Random Databases

    /// Rows that come and go, so that there are full, split, free and overflow pages.
    private func statements(_ random: inout SeededGenerator) -> String {
        var sql = "PRAGMA auto_vacuum = \(Int.random(in: 0...2, using: &random));\n"
        sql += "PRAGMA journal_mode = \(["DELETE", "WAL"].randomElement(using: &random) ?? "");\n"
        sql += "CREATE TABLE always (a); INSERT INTO always VALUES (1);\n"
        for table in 0..<Int.random(in: 1...4, using: &random) {
            let without = Bool.random(using: &random) ? "WITHOUT ROWID" : ""
            sql += """
                CREATE TABLE t\(table) (a PRIMARY KEY, b, c) \(without);
                CREATE INDEX i\(table) ON t\(table) (c, b DESC);

                """
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let (count, length) = (
                    Int.random(in: 1...300, using: &random),
                    Int.random(in: 0...3000, using: &random)
                )
                let start = Int.random(in: 0...100_000, using: &random)
                sql +=
                    [
                        """
                        WITH n(x) AS (SELECT \(start) UNION ALL SELECT x + 1 FROM n LIMIT \(count))
                        INSERT OR REPLACE INTO t\(table)
                        SELECT x * 7919 % 10007, x, randomblob(abs(random()) % \(length + 1)) FROM n;

                        """,
                        "DELETE FROM t\(table) WHERE b % 3 = 0;\n",
                        "UPDATE t\(table) SET c = zeroblob(\(length * 20)) WHERE b % 50 = 0;\n",
                    ].randomElement(using: &random) ?? ""
            }
        }
        if Bool.random(using: &random) { sql += "DROP TABLE t0;\n" }
        return sql + "PRAGMA user_version = \(Int.random(in: 1...1000, using: &random));\n"
    }

    /// The content of each page, and how often the schema was changed.
    private func pages(_ path: String, _ form: DatabaseForm) throws -> [[UInt8]] {
        let data = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        guard let key = form.key else {
            let size = Int(data.half(16)) == 1 ? 65536 : data.half(16)
            return stride(from: 0, to: data.count, by: size).map { Array(data[$0..<($0 + size)]) }
        }
        let settings = form.cipher
        let salt = try settings.salt(ofFile: data, key: key)
        let derived = try key.derived(salt: salt, cipher: settings)
        let cipher = try PageCipher(key: derived, cipher: settings)
        let size = settings.pageSize
        return try (0..<data.count / size).map { index in
            let page = Array(data[(index * size)..<((index + 1) * size)])
            return try #require(cipher.decrypt(page, number: index + 1))
        }
    }

    private static let seed = SeededGenerator.seed
    private static let checks = "PRAGMA integrity_check; PRAGMA cipher_integrity_check;\n.sha3sum\n"

    /// Every page is the same afterwards, and SQLCipher's own shell finds nothing wrong with it.
    @Test(arguments: 0..<Samples.count(6))
    func everyPageIsKept(number: Int) throws {
        let seed = Self.seed &+ UInt64(number)
        var random = SeededGenerator(seed: seed)
        let settings = CipherSettingsTests.each[number % CipherSettingsTests.each.count]
        let (key, newKey) = (try TestKey.each()[number % 3], try TestKey.each()[number / 3 % 3])
        let pragmas = settings.pragmas
        _ = try SQLCipherShell.run(path, key: key.spelling, pragmas + statements(&random))
        let form = DatabaseForm.encrypted(key.key, cipher: settings)
        let newForm = DatabaseForm.encrypted(newKey.key, cipher: settings)
        let expected = try pages(path, form)
        let content = try SQLCipherShell.run(path, key: key.spelling, pragmas + Self.checks)
        try #require(content.hasPrefix("ok\n"), "seed \(seed)")

        let (copy, restored) = (folder.path("copy.db"), folder.path("restored.db"))
        try DatabaseBackup(path, to: copy, form: form, newKey: newKey.key).run()
        #expect(try pages(copy, newForm) == expected, "seed \(seed)")
        #expect(
            try SQLCipherShell.run(copy, key: newKey.spelling, pragmas + Self.checks) == content,
            "seed \(seed)"
        )
        try DatabaseRestore(restored, from: copy, form: newForm).run()
        #expect(try pages(restored, newForm) == expected, "seed \(seed)")
        let report = try DatabaseConversion.rekey(
            path,
            from: key.key,
            to: newKey.key,
            cipher: settings
        ).run()
        #expect(try pages(path, newForm) == expected, "seed \(seed)")
        let counts = try EncryptedDatabase.open(
            path,
            key: newKey.key,
            options: .init(cipher: settings)
        ).read { db in
            try ContentDigest.tables(of: db).map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0) NOT INDEXED") ?? 0
            }
        }
        #expect(report.tableCount == counts.count && report.rowCount == counts.reduce(0, +))
        // The salt and what is random at the end of each page are new.
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: copy)).suffix(64)
                != Data(contentsOf: URL(fileURLWithPath: restored)).suffix(64)
        )
    }

    @Test(arguments: [512, 4096, 65536])
    func plaintextFileIsTheSameByteForByte(pageSize: Int) throws {
        let seed = Self.seed &+ UInt64(pageSize)
        var random = SeededGenerator(seed: seed)
        _ = try SQLiteShell.run(path, "PRAGMA page_size = \(pageSize);\n" + statements(&random))
        let (copy, restored) = (folder.path("copy.db"), folder.path("restored.db"))
        try DatabaseBackup(path, to: copy, form: .plaintext()).run()
        try DatabaseRestore(restored, from: copy, form: .plaintext()).run()
        let data = try folder.databaseData()
        #expect(try folder.data("copy.db") == data, "seed \(seed)")
        #expect(try folder.data("restored.db") == data, "seed \(seed)")
    }

    /// With other iterations, pages have the same form. With another page size they don't.
    @Test func onlyPagesOfTheSameFormAreCopied() throws {
        let key = try TestKey.passphrase()
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            "CREATE TABLE t (a); \(Fixtures.fill(pages: 20)) DROP TABLE filler;"
        )
        func freePages(after cipher: CipherSettings) throws -> Int? {
            let copy = folder.path("copy.db")
            try DatabaseConversion.rekey(
                path,
                from: key.key,
                to: key.key,
                newCipher: cipher
            ).run(to: copy)
            defer { unlink(copy) }
            let options = EncryptedDatabase.Options(cipher: cipher)
            return try EncryptedDatabase.open(copy, key: key.key, options: options).read {
                try Int.fetchOne($0, sql: "PRAGMA freelist_count")
            }
        }
        #expect(try freePages(after: CipherSettings(kdfIterations: 1000)) ?? 0 >= 20)
        #expect(try freePages(after: CipherSettings(pageSize: 8192)) == 0)
    }

    // MARK: - What the Comparison Finds

    /// A new file that is written and not compared yet.
    private struct Rewritten {
        let rewriting: PageRewriting
        let path: String
        let count: Int
        let encryption: (key: DatabaseKey, salt: [UInt8])
    }

    private func rewrite(_ settings: CipherSettings) throws -> Rewritten {
        let (key, newKey) = (try TestKey.raw(), try TestKey.raw())
        let copy = folder.path("copy.db")
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            settings.pragmas + "CREATE TABLE t (a); \(Fixtures.fill(pages: 200))"
        )
        try folder.write("copy.db", [])
        let connection = try CipherConnection(immutable: path)
        let count = try connection.fileSize() / settings.pageSize
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let rewriting = try PageRewriting(
            to: copy,
            .init(key: newKey.key, salt: salt, cipher: settings),
            pageSize: settings.pageSize,
            count: count
        )
        try connection.withHandle { handle in
            let pages = try DatabasePages(of: handle, pageSize: settings.pageSize, count: count)
            let form = PageRewriting.Encryption(
                key: key.key,
                salt: try settings.salt(ofFile: pages.start(), key: key.key),
                cipher: settings
            )
            try rewriting.copy(pages, form) { _ in }
        }
        return Rewritten(
            rewriting: rewriting,
            path: copy,
            count: count,
            encryption: (newKey.key, salt)
        )
    }

    /// Rewrites pages, and changes the new file before it is compared.
    private func compare(
        _ settings: CipherSettings,
        _ change: (_ file: FileHandle, _ key: DatabaseKey, _ salt: [UInt8]) throws -> Void
    ) throws {
        let rewritten = try rewrite(settings)
        #expect(try rewritten.rewriting.compare { _ in }.findings == [])
        let file = try #require(FileHandle(forUpdatingAtPath: rewritten.path))
        try change(file, rewritten.encryption.key, rewritten.encryption.salt)
        try file.close()
        _ = try rewritten.rewriting.compare { _ in }
    }

    /// It is as authentic as the right one.
    @Test(arguments: [CipherSettings.current, CipherSettingsTests.each[3]])
    func otherContentIsFound(_ settings: CipherSettings) throws {
        let (size, number) = (settings.pageSize, 70)
        #expect(throws: PageRewritingError.differs(page: number)) {
            try compare(settings) { file, key, salt in
                try file.seek(toOffset: UInt64((number - 1) * size))
                var page = try [UInt8](#require(try file.read(upToCount: size)))
                let decryption = try PageCipher(key: key, cipher: settings)
                let encryption = try PageCipher(key: key, cipher: settings, isEncrypting: true)
                let authentication = try PageAuthentication(
                    key: key,
                    salt: salt,
                    cipher: settings
                )
                page.withUnsafeMutableBytes { page in
                    #expect(decryption.decrypt(page, number: number))
                    page[size / 2] ^= 1
                    #expect(encryption.encrypt(page, number: number))
                    _ = authentication?.authenticate(page, number: number)
                }
                try file.seek(toOffset: UInt64((number - 1) * size))
                try file.write(contentsOf: page)
            }
        }
    }

    @Test func pageThatIsNotAsItWasWrittenIsFound() throws {
        #expect(throws: PageRewritingError.notAuthentic(page: 71)) {
            try compare(.current) { file, _, _ in
                try file.seek(toOffset: 70 * 4096 + 500)
                try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
            }
        }
    }

    @Test func missingEndIsFound() throws {
        #expect(throws: PageRewritingError.wrongSize) {
            try compare(.current) { file, _, _ in try file.truncate(atOffset: 70 * 4096) }
        }
    }

    // MARK: - Damage

    @Test func everyDamagedPageIsNamed() throws {
        let (key, newKey) = (try TestKey.raw(), try TestKey.raw())
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            "CREATE TABLE t (a); \(Fixtures.fill(pages: 300))"
        )
        let pages = [5, 64, 65, 190, 299]
        for page in pages { try folder.damage(at: (page - 1) * 4096 + 1000) }
        let before = try folder.databaseData()
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: pages)) {
            try DatabaseConversion.rekey(path, from: key.key, to: newKey.key).run()
        }
        #expect(try folder.databaseData() == before)
        #expect(try folder.names == ["notes.db"])
    }

    /// A page that was freed before it was ever written is one of zeros, without an HMAC. SQLCipher
    /// reads it as empty.
    @Test func pageThatWasNeverWrittenIsNotDamaged() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            """
            CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');
            \(Fixtures.fill(pages: 30)) DROP TABLE filler;
            """
        )
        var data = try folder.databaseData()
        data.resetBytes(in: (data.count - 3 * 4096)..<(data.count - 2 * 4096))
        try folder.write("notes.db", data)
        let copy = folder.path("copy.db")
        try DatabaseBackup(path, to: copy, form: .encrypted(key.key)).run()
        #expect(
            try SQLCipherShell.run(
                copy,
                key: key.spelling,
                "PRAGMA integrity_check; PRAGMA cipher_integrity_check; SELECT a FROM t;"
            ) == "ok\nzettel"
        )
    }

    /// The content of a long row goes on there: to the structure, zeros are the end of it.
    @Test func usedPageOfZerosIsDamaged() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(3 * 4000));"
        )
        var data = try folder.databaseData()
        data.resetBytes(in: (data.count - 4096)..<data.count)
        try folder.write("notes.db", data)
        let page = data.count / 4096
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [page])) {
            try DatabaseBackup(path, to: folder.path("copy.db"), form: .encrypted(key.key)).run()
        }
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [page])) {
            try DatabaseConversion.rekey(path, from: key.key, to: TestKey.raw().key).run()
        }
        #expect(try folder.databaseData() == data)
    }

    // MARK: - The Log

    /// Others write, and move the log into the file, while it is read.
    @Test(arguments: [false, true])
    func instantIsKeptWhateverHappensToTheLog(isMoved: Bool) throws {
        let key = try TestKey.raw()
        let queue = try EncryptedDatabase.open(
            path,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
                    CREATE TABLE t (id INTEGER PRIMARY KEY, n, padding);
                    WITH c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 300)
                    INSERT INTO t SELECT i, 0, randomblob(3500) FROM c;
                    PRAGMA wal_checkpoint(TRUNCATE);
                    UPDATE t SET n = 1 WHERE id % 2 = 0;
                    """
            )
            // A log that is in the file as a whole is begun anew by the next writer.
            if isMoved { try db.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
        }
        let copy = folder.path("copy.db")
        let isWritten = Recorded(false)
        try DatabaseBackup(
            path,
            to: copy,
            form: .encrypted(key.key),
            options: .init(observer: { event in
                guard case .progress(.copying, bytesDone: 0, _) = event, !isWritten.value else {
                    return
                }
                isWritten.change { $0 = true }
                do {
                    try queue.writeWithoutTransaction { db in
                        for _ in 0..<3 {
                            try db.execute(
                                sql: "UPDATE t SET n = n + 10, padding = randomblob(3500)"
                            )
                            try db.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)")
                        }
                    }
                } catch {
                    Issue.record(error)
                }
            })
        ).run()
        #expect(isWritten.value)
        #expect(
            try SQLCipherShell.run(
                copy,
                key: key.spelling,
                "PRAGMA integrity_check; SELECT n, count(*) FROM t GROUP BY n;"
            ) == "ok\n0|150\n1|150"
        )
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "SELECT sum(n) FROM t") } == 30 * 300 + 150
        )
        try queue.close()
    }

    /// One process writes as fast as it can, another one begins the log anew again and again.
    @Test func everyBackupIsOneInstantWhileTheLogIsBegunAnew() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER, padding BLOB);
            WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 999)
            INSERT INTO account SELECT i, 0, randomblob(3500) FROM c;
            """
        )
        let writer = try program(
            """
            import random
            count = 0
            while not ended.is_set():
                connection.execute("BEGIN IMMEDIATE")
                change = "UPDATE account SET amount = amount + ? WHERE id = ?"
                amount = random.randrange(100)
                connection.execute(change, (amount, random.randrange(500)))
                connection.execute(change, (-amount, random.randrange(500, 1000)))
                connection.execute("COMMIT")
                count += 1
            """,
            key
        )
        let mover = try program(
            """
            import time
            count = 0
            modes = ["PASSIVE", "RESTART", "TRUNCATE", "FULL"]
            connection.execute("PRAGMA busy_timeout = 20")
            while not ended.is_set():
                connection.execute(f"PRAGMA wal_checkpoint({modes[count % 4]})").fetchall()
                count += 1
            """,
            key
        )
        let copy = folder.path("copy.db")
        for _ in 0..<12 {
            try DatabaseBackup(
                path,
                to: copy,
                form: .encrypted(key.key),
                options: .init(timeout: 100)
            ).run()
            #expect(
                try SQLCipherShell.run(
                    copy,
                    key: key.spelling,
                    "PRAGMA integrity_check; SELECT sum(amount), count(*) FROM account;"
                ) == "ok\n0|1000"
            )
            #expect(unlink(copy) == 0)
        }
        for process in [writer, mover] {
            process.write("end\n".utf8)
            let result = try process.finish()
            #expect(result.status == 0, "\(result)")
            #expect(Int(result.stdout.split(separator: "\n").last ?? "") ?? 0 > 10, "\(result)")
        }
    }

    /// A process with a connection to the database, which runs until it gets a line.
    private func program(_ body: String, _ key: TestKey) throws -> ChildProcess {
        let process = try ChildProcess(
            Python.executable,
            [
                "-c",
                Python.connect + """
                    import threading
                    path, key = json.loads(sys.stdin.readline())
                    connection = connect(path, key, isolation_level=None, timeout=100)
                    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
                    ended = threading.Event()
                    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set())).start()
                    print("runs", flush=True)

                    """ + body + "\nconnection.close()\nprint(count)\n",
            ]
        )
        process.write(try JSONSerialization.data(withJSONObject: [path, key.spelling]))
        process.write("\n".utf8)
        #expect(process.readLine() == "runs")
        return process
    }
}
