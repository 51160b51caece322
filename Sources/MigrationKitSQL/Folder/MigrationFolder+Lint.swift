import MigrationKit

extension MigrationFolder {
    /// A statement for which a folder can't be used, as ``MigrationFolderError`` reports the first.
    package struct Refusal {
        /// The migration's identifier.
        package let identifier: String
        package let statement: RefusedStatement
        package let place: SQLPlace
        /// Whether it is an ATTACH with a key.
        package let givesKey: Bool
        /// What to do instead.
        package let advice: String
    }

    /// Reads migrations that may be a stranger's: no link may leave the folder's repository.
    ///
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - names: The names of its files, if they are no known tool's.
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    package init(ofStranger path: String, names: MigrationNamePattern? = nil) throws {
        try self.init(
            reading: SQLFolder(path: path, repository: Repository(of: path), pattern: names)
        )
    }

    /// All statements for which a folder can't be used. No link may leave its repository.
    ///
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - names: The names of its files, if they are no known tool's.
    /// - Throws: ``MigrationFolderError`` for anything else that can't be used.
    package static func refusals(
        in path: String,
        names: MigrationNamePattern? = nil
    ) throws -> [Refusal] {
        let folder = SQLFolder(path: path, repository: Repository(of: path), pattern: names)
        return try MigrationFiles.group(folder.migrationFiles()).flatMap { files in
            let source = try MigrationSource(files, in: folder)
            let parts = try source.parts()
            return [parts.up, parts.down].compactMap { $0 }.flatMap { part in
                part.refused(usesTransaction: parts.usesTransaction).map { kind, statement in
                    Refusal(
                        identifier: files.up.identifier,
                        statement: kind,
                        place: part.outline.file.place(at: statement.range.lowerBound),
                        givesKey: kind == .attachment
                            && part.outline.file.hasWord("KEY", in: statement.range),
                        advice: kind.advice(
                            wayOutOfTransaction: source.format.wayOutOfTransaction
                        )
                    )
                }
            }
        }
    }

    /// Reads migrations that aren't on disk.
    ///
    /// - Parameters:
    ///   - path: The folder's path, for messages.
    ///   - files: The contents of the files, by their paths in the folder.
    ///   - names: The names of the files, if they are no known tool's.
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    package init(
        path: String,
        files: [String: [UInt8]],
        names: MigrationNamePattern? = nil
    ) throws {
        try self.init(reading: SQLFolder(path: path, files: files, pattern: names))
    }

    /// The text of a migration's file without what it has in single quotes, since that may be a
    /// secret.
    ///
    /// - Parameters:
    ///   - file: The path of the file in the folder.
    ///   - identifier: The migration.
    ///   - hidesDoubleQuoted: Whether what is in double quotes is hidden, too.
    /// - Returns: `nil` if the migration has no such file.
    package func maskedText(
        of file: String,
        in identifier: String,
        hidingDoubleQuoted hidesDoubleQuoted: Bool = false
    ) -> MaskedText? {
        let migration = scripts[identifier]?.scripts
        let script = [migration?.up, migration?.down].compactMap { $0 }
            .first { $0.file.name == file }
        return script.map { script in
            // The whole file: a string may begin on an earlier line.
            MaskedText(
                file: file,
                lines: String(decoding: script.file.bytes, as: UTF8.self)
                    .withoutStrings(hidingDoubleQuoted: hidesDoubleQuoted)
                    .split(separator: "\n", omittingEmptySubsequences: false)
            )
        }
    }
}

/// The lines of a file, with stars for its strings.
package struct MaskedText: Sendable {
    fileprivate let file: String
    fileprivate let lines: [Substring]

    /// A line with a caret under a column.
    ///
    /// - Parameters:
    ///   - line: The line, from 1.
    ///   - column: The column in characters, from 1.
    /// - Returns: `nil` if there is no such line.
    package func excerpt(line: Int, column: Int) -> String? {
        guard lines.indices.contains(line - 1) else { return nil }
        return SQLPlace(
            file: file,
            line: line,
            column: column,
            maskedText: String(lines[line - 1])
        ).excerpt
    }
}

extension SQLScript {
    /// The statements with their places, split without compiling them: what comes after a statement
    /// that SQLite refuses is found, too.
    var statements: [ScriptStatement] {
        // The same file was read before.
        guard let outline = try? SQLOutline(of: file) else { return [] }
        return file.scriptStatements(statements(in: outline))
    }

    fileprivate func statements(in outline: SQLOutline) -> [SQLOutline.Statement] {
        ranges.flatMap { range in
            outline.statements.filter { range.contains($0.range.lowerBound) }
        }
    }
}

extension MigrationScripts {
    /// The statements that apply the step, between those of its checks.
    var upStatements: [ScriptStatement] {
        guard let outline = try? SQLOutline(of: up.file) else { return [] }
        func checks(_ marker: CheckPart.Marker) -> [SQLOutline.Statement] {
            outline.checkParts.filter { $0.marker == marker }.flatMap(\.statements)
        }
        return up.file.scriptStatements(
            checks(.require) + up.statements(in: outline) + checks(.check)
        )
    }
}

extension SQLFile {
    /// Statements with their places.
    fileprivate func scriptStatements(_ statements: [SQLOutline.Statement]) -> [ScriptStatement] {
        var position = TextPosition(in: bytes)
        return statements.map(\.range).map { range in
            let (line, column) = position.lineAndColumn(at: range.lowerBound)
            return ScriptStatement(
                file: name,
                text: text(in: range),
                range: range,
                line: line,
                column: column,
                lastLine: position.lineAndColumn(at: range.upperBound).line
            )
        }
    }

    /// Whether a part of the text has a word outside of literals and comments.
    fileprivate func hasWord(_ word: String, in range: Range<Int>) -> Bool {
        SQLTokenizer(bytes, in: range).contains {
            $0.kind == .word && text(in: $0.range).uppercased() == word
        }
    }
}
