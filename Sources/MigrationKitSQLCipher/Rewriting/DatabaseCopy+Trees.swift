import Foundation
import GRDB
import MigrationKitPages

/// What the pages of a source and of its copy say about the copy, without SQLite.
///
/// Which pass finds what:
///
/// | what may be wrong | found by |
/// | --- | --- |
/// | the copy doesn't open with the key as given | SQLCipher, when the copy is opened |
/// | a page of the copy can't be read back or isn't authentic | the walk over the copy's pages |
/// | its structure is damaged | the walk over the copy's pages |
/// | a setting or the schema differs | here: header and schema of both |
/// | a row is missing, doubled or different | here: the digests of each table in both |
/// | an index doesn't fit its table | here: it has the same entries as the source's index |
/// | a row breaks a rule: NOT NULL, CHECK, STRICT, a foreign key | nothing: equal rows of the same \
/// schema break it in the source as well, which isn't the copy's fault |
///
/// Equal rows may have different bytes: a row from before a column was added doesn't have it. What
/// differs here is looked at through SQLite, table by table. If it isn't clear what differs, SQLite
/// looks at everything.
struct TreeComparison {
    let content: CopiedContent
    /// The tables whose rows are stored in different bytes.
    let tables: Set<String>
    /// These, and the tables whose indexes are.
    let unproven: Set<String>

    /// - Returns: `nil` if the structure, the settings or the schema leave any doubt.
    init?(source: StructureCheck.Report, copy: StructureCheck.Report) {
        guard source.findings.isEmpty, copy.findings.isEmpty,
            Settings(source.header) == Settings(copy.header),
            source.objects.count == copy.objects.count
        else { return nil }
        let found = Dictionary(
            copy.objects.map { (Identity($0), $0.root) },
            uniquingKeysWith: { first, _ in first }
        )
        var (tableCount, rowCount) = (0, 0)
        var (tables, unproven): (Set<String>, Set<String>) = ([], [])
        for object in source.objects {
            guard let root = found[Identity(object)], (root == 0) == (object.root == 0) else {
                return nil
            }
            guard object.root > 0 else { continue }
            guard let content = source.contents[object.root], let other = copy.contents[root] else {
                return nil
            }
            if object.type == "table" {
                tableCount += 1
                rowCount += content.count
            }
            guard content != other else { continue }
            unproven.insert(object.table)
            if object.type == "table" { tables.insert(object.name) }
        }
        self.content = CopiedContent(tableCount: tableCount, rowCount: rowCount)
        self.tables = tables
        self.unproven = unproven
    }

    /// An object of the schema, wherever its pages are.
    private struct Identity: Hashable {
        let type: String
        let name: String
        let table: String
        let sql: [UInt8]

        init(_ object: StoredObject) {
            (type, name, table, sql) = (object.type, object.name, object.table, object.sql)
        }
    }

    /// <https://www.sqlite.org/fileformat.html#the_database_header>
    private struct Settings: Equatable {
        let values: [UInt32]
        let vacuums: [Bool]

        init(_ header: [UInt8]) {
            // The encoding, `user_version`, `application_id`.
            values = [56, 60, 68].map { header.isEmpty ? 0 : header.word($0) }
            // The greatest root page, and whether vacuuming is incremental.
            vacuums = [52, 64].map { header.isEmpty || header.word($0) != 0 }
        }
    }
}

extension DatabaseCopy {
    /// Walks over the pages of source and copy.
    ///
    /// - Returns: `nil` if only SQLite can say whether the copy is right.
    func compareTrees(
        _ copy: DatabaseQueue,
        with source: DatabaseQueue,
        byteCount: Int
    ) throws -> TreeComparison? {
        let size = FileManager.default.size(of: path)
        monitor.begin(.comparing, total: byteCount + size)
        let keys = ContentKeys()
        // Another reading than SQLite's, so a page that is wrong now shows in the digest.
        let expected = try StructureCheck(keys: keys, readsFreePages: false)
            .run(source, provesPages: false) { try monitor.reach($0) }
        guard let expected, expected.findings.isEmpty else { return nil }
        let found = try StructureCheck(keys: keys)
            .run(copy, provesPages: true) { try monitor.reach(byteCount + $0) }
        guard let found, let comparison = TreeComparison(source: expected, copy: found) else {
            return nil
        }
        monitor.finish()
        return comparison
    }
}

extension StructureCheck {
    /// Checks the file of a connection that nobody writes.
    ///
    /// - Returns: `nil` if the connection wasn't opened here, or the file can't be read.
    package func run(
        _ queue: DatabaseQueue,
        provesPages: Bool,
        reach: (Int) throws -> Void
    ) throws -> Report? {
        guard let setup = try ConnectionSetup.of(queue) else { return nil }
        return try queue.inDatabase { db in
            let pages: DecryptedPages
            do throws(CipherCode) {
                let bytes = try SharedBytes(of: db.sqliteConnection)
                if let key = setup.key {
                    pages = DecryptedPages(
                        encrypted: bytes,
                        key: key,
                        cipher: setup.options.cipher,
                        provesPages: provesPages
                    )
                } else {
                    pages = try DecryptedPages(plaintext: bytes)
                }
            } catch {
                return nil
            }
            return try run(pages, reach: reach)
        }
    }
}
