import Foundation
import GRDBSQLite

@testable import MigrationKit
@testable import MigrationKitSQL

/// Reads a text as every file of every format, and looks whether what is promised about it holds:
/// it is refused, or nothing of it is lost, SQLite sees the same statements, and none of them is
/// one that a migration must not have.
///
/// The fuzzer runs it on what it makes up, the tests on the corpus that this has left.
final class EveryFormat {
    /// A connection that only compiles, and asks before it does.
    private let connection: OpaquePointer?
    private let asked = Asked()
    /// What of the present text was compiled already: formats that agree on it needn't do it again.
    private var compiled: Set<Range<Int>> = []

    /// What SQLite has asked about while it compiled.
    fileprivate final class Asked {
        var refused: RefusedStatement?
    }

    init() {
        var connection: OpaquePointer?
        sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE, nil)
        self.connection = connection
        let tables = ["a", "b", "t", "cooks", "recipes", "changes", "note"]
            .map { "CREATE TABLE \($0) (id, x, name, title, text, motto);" }.joined()
        sqlite3_exec(connection, tables, nil, nil, nil)
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, _, _ in
                guard let context else { return SQLITE_OK }
                let asked = Unmanaged<Asked>.fromOpaque(context).takeUnretainedValue()
                return asked.answer(action, first, second)
            },
            Unmanaged.passUnretained(asked).toOpaque()
        )
    }

    deinit {
        sqlite3_close_v2(connection)
    }

    /// - Returns: What is promised and doesn't hold, if anything.
    func brokenPromise(for bytes: [UInt8]) -> String? {
        compiled = []
        if let broken = Self.brokenTokens(of: bytes) { return broken }
        let file = Result { try SQLFile(name: "1_a.sql", contents: bytes) }
        let outline = Result { try SQLOutline(of: file.get()) }
        for reading in Reading.allCases {
            do {
                let (parts, format) = try reading.parts(of: file, outline)
                let scripts = try MigrationScripts(parts, of: "1_a", format: format)
                let isEmpty = parts.up.statements.isEmpty
                guard scripts.checksum != nil, isEmpty == (scripts.emptyUp != nil),
                    isEmpty || !scripts.up.text.isEmpty
                else {
                    return "\(reading): a part without a checksum or a text"
                }
                if let broken = brokenParts(parts, of: format) { return "\(reading): \(broken)" }
            } catch let error as MigrationFolderError {
                guard error.errorDescription?.isEmpty == false,
                    error.recoverySuggestion?.isEmpty == false
                else { return "\(reading): an error without words: \(error)" }
            } catch {
                return "\(reading): \(error)"
            }
        }
        return nil
    }

    // MARK: - Reading

    /// Every place where a format takes a file.
    private enum Reading: CaseIterable {
        case single, pairUp, pairDown, dieselUp, dieselMetadata, flywayUp, flywayDown

        func parts(
            of file: Result<SQLFile, any Error>,
            _ outline: Result<SQLOutline, any Error>
        ) throws -> (MigrationParts, MigrationFormat) {
            switch self {
            case .single:
                let outline = try outline.get()
                let format = outline.markers.first?.marker.format ?? .upOnly
                return try Self.parts(of: format, up: outline)
            case .pairUp: return try Self.parts(of: .pairs, up: outline.get())
            case .pairDown: return try Self.parts(of: .pairs, down: outline.get())
            case .dieselUp: return try Self.parts(of: .diesel, up: outline.get())
            case .dieselMetadata: return try Self.parts(of: .diesel, metadata: file.get())
            case .flywayUp: return try Self.parts(of: .flyway, up: outline.get())
            case .flywayDown: return try Self.parts(of: .flyway, down: outline.get())
            }
        }

        private static func parts(
            of format: MigrationFormat,
            up: SQLOutline? = nil,
            down: SQLOutline? = nil,
            metadata: SQLFile? = nil
        ) throws -> (MigrationParts, MigrationFormat) {
            let parts = try format.implementation.parts(
                up: up ?? Self.up(),
                down: down,
                metadata: metadata
            )
            return (parts, format)
        }

        private static func up() throws -> SQLOutline {
            try SQLOutline(of: SQLFile(name: "1_a.up.sql", contents: Array("SELECT 1;".utf8)))
        }
    }

    // MARK: - What must hold

    /// Tokens cover the text, without a gap.
    private static func brokenTokens(of bytes: [UInt8]) -> String? {
        var end = 0
        for token in SQLTokenizer(bytes) {
            guard token.range.lowerBound == end, !token.range.isEmpty else {
                return "a token at \(token.range), behind \(end)"
            }
            end = token.range.upperBound
        }
        return end == bytes.count ? nil : "the last token ends at \(end) of \(bytes.count)"
    }

    /// What is neither space nor comment is in one statement, and every statement in one part.
    private func brokenParts(_ parts: MigrationParts, of format: MigrationFormat) -> String? {
        for part in [parts.up, parts.down].compactMap({ $0 }) {
            let outline = part.outline
            // One file of these has both parts. Its checks are none of theirs.
            let checks = outline.checkParts
            let ranges =
                (format.implementation.markers != nil
                ? parts.up.ranges + (parts.down?.ranges ?? []) : part.ranges)
                .without(checks.map(\.range)) + checks.map(\.range)

            let all = (outline.statements + checks.flatMap(\.statements))
                .sorted { $0.range.lowerBound < $1.range.lowerBound }
            var statements = all[...]
            for token in SQLTokenizer(outline.file.bytes) {
                switch token.kind {
                case .space, .lineComment, .blockComment: continue
                case .unterminated: return "an open end at \(token.range) was accepted"
                case .semicolon, .word, .quoted, .symbol: break
                }
                while let first = statements.first,
                    first.range.upperBound <= token.range.lowerBound
                {
                    statements.removeFirst()
                }
                let isInside =
                    statements.first.map { $0.range.contains(token.range.lowerBound) } ?? false
                guard isInside || token.kind == .semicolon else {
                    return "nothing has what stands at \(token.range)"
                }
            }
            for statement in all {
                let homes = ranges.filter {
                    $0.lowerBound <= statement.range.lowerBound
                        && statement.range.upperBound <= $0.upperBound
                }
                guard homes.count == 1 else {
                    return "\(homes.count) parts have the statement at \(statement.range)"
                }
                if let broken = compile(statement, upTo: homes[0].upperBound, of: outline.file) {
                    return broken
                }
            }
        }
        return nil
    }

    /// SQLite ends a statement that it understands where we do, and asks about nothing that a
    /// migration must not do.
    private func compile(
        _ statement: SQLOutline.Statement,
        upTo end: Int,
        of file: SQLFile
    ) -> String? {
        guard file.name == "1_a.sql",
            compiled.insert(statement.range.lowerBound..<end).inserted
        else { return nil }
        asked.refused = nil
        let text = file.bytes[statement.range.lowerBound..<end].map { CChar(bitPattern: $0) } + [0]
        let length: Int? = text.withUnsafeBufferPointer { text in
            var compiled: OpaquePointer?
            var tail: UnsafePointer<CChar>?
            defer { sqlite3_finalize(compiled) }
            let code = sqlite3_prepare_v3(
                connection,
                text.baseAddress,
                CInt(text.count),
                0,
                &compiled,
                &tail
            )
            guard code == SQLITE_OK, compiled != nil, let start = text.baseAddress else {
                return nil
            }
            return tail.map { $0 - start }
        }
        if let refused = asked.refused {
            return "\(refused) was accepted at \(statement.range)"
        }
        // Without a semicolon, space and comments behind the statement count as its own.
        let ends = file.bytes[statement.range.upperBound - 1] == UInt8(ascii: ";")
        let rest = SQLTokenizer(file.bytes, in: statement.range.upperBound..<end)
        let isLast = rest.allSatisfy { [.space, .lineComment, .blockComment].contains($0.kind) }
        let isOurs = length == statement.range.count
        let isAll = length == end - statement.range.lowerBound && isLast && !ends
        if let length, !isOurs, !isAll {
            return "SQLite reads \(length) bytes of the statement at \(statement.range)"
        }
        return nil
    }
}

extension EveryFormat.Asked {
    /// Denies what changes the connection as soon as it is compiled, and notes what should have been
    /// refused before.
    fileprivate func answer(
        _ action: CInt,
        _ first: UnsafePointer<CChar>?,
        _ second: UnsafePointer<CChar>?
    ) -> CInt {
        switch action {
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
            refused = .transactionControl
        case SQLITE_ATTACH, SQLITE_DETACH:
            refused = .attachment
        case SQLITE_PRAGMA:
            let name = first.map { String(cString: $0).lowercased() } ?? ""
            switch name {
            case "key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey", "cipher_migrate":
                refused = .encryptionPragma
            case _ where second != nil && (name.hasPrefix("cipher") || name.hasSuffix("kdf_iter")):
                refused = .encryptionPragma
            case "temp_store" where second != nil, "temp_store_directory" where second != nil:
                refused = .temporaryStoragePragma
            case "journal_mode" where second.map(Self.givesUpTheJournal) == true,
                "synchronous" where second.map(Self.keepsSynchronizing) == false:
                refused = .durabilityPragma
            default:
                break
            }
        default:
            return SQLITE_OK
        }
        return SQLITE_DENY
    }

    private static func givesUpTheJournal(_ mode: UnsafePointer<CChar>) -> Bool {
        let mode = String(cString: mode).lowercased()
        return !mode.isEmpty && ("off".hasPrefix(mode) || "memory".hasPrefix(mode))
    }

    private static func keepsSynchronizing(_ level: UnsafePointer<CChar>) -> Bool {
        ["1", "2", "3", "normal", "full", "extra"].contains(String(cString: level).lowercased())
    }
}
