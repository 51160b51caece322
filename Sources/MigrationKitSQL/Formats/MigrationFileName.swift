import MigrationKit

/// The parsed name of a file in a migrations folder.
struct MigrationFileName {
    enum Role: Hashable {
        /// Applies the step, or has both parts.
        case up
        /// Rolls the step back.
        case down
    }

    /// The path in the folder. It differs from the name only if the migration is a folder.
    let path: String
    /// The format that has such names; `nil` for `0001_name.sql`, whose markers show the format.
    let format: MigrationFormat?
    let role: Role
    /// The name without its endings.
    let identifier: String
    let version: MigrationVersion

    /// Whether golang-migrate alone has such names: ``PairFormat/fileName(_:)``.
    var isOnlyOfGolangMigrate: Bool {
        format == .pairs && !path.lowercased().hasSuffix(role == .up ? ".up.sql" : ".down.sql")
    }

    /// Parses a name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - pattern: The folder's own names; `nil` for those of the known tools.
    /// - Returns: `nil` for a file to ignore: it is hidden, or isn't SQL.
    /// - Throws: ``MigrationFolderError/unexpectedName(file:)``,
    ///   ``MigrationFolderError/otherThanPattern(_:file:)`` or
    ///   ``MigrationFolderError/unsupportedFile(_:file:)``.
    static func read(_ name: String, as pattern: MigrationNamePattern?) throws -> MigrationFileName?
    {
        guard !name.hasPrefix(".") else { return nil }
        if let unsupported = UnsupportedFile(name: name) {
            throw MigrationFolderError.unsupportedFile(unsupported, file: name)
        }
        // On some file systems, the ending may be .SQL.
        guard name.lowercased().hasSuffix(".sql") else { return nil }
        if let pattern {
            guard let read = pattern.fileName(name) else {
                throw MigrationFolderError.otherThanPattern(pattern, file: name)
            }
            return read
        }
        for format in MigrationFormat.implementations {
            if let read = format.fileName(name) { return read }
        }
        guard let single = single(name) else {
            throw MigrationFolderError.unexpectedName(file: name)
        }
        return single
    }

    private static func single(_ name: String) -> MigrationFileName? {
        number(of: name).map {
            MigrationFileName(
                path: name,
                format: nil,
                role: .up,
                identifier: String(name.dropLast(".sql".count)),
                version: $0
            )
        }
    }

    /// The version at the beginning of a name.
    static func number(of name: String) -> MigrationVersion? {
        MigrationVersion(of: name, separators: "-.")
    }
}

/// The position of a migration among the others: the number or numbers at the beginning of its
/// name.
///
/// Numbers are compared as numbers, with any length and any leading zeros: 2 comes before 10, and 1
/// equals 01. Diesel's versions are text, and are compared as text.
struct MigrationVersion: Hashable, Comparable, CustomStringConvertible {
    private enum Value: Hashable {
        /// The digits of each number, without leading zeros. Trailing zero numbers don't count.
        case numbers([String])
        case text(String)
    }

    private let value: Value

    /// Parses the beginning of a name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - separators: The ASCII characters that are allowed between two numbers.
    /// - Returns: `nil` if the name doesn't begin with a digit.
    init?(of name: some StringProtocol, separators: String) {
        var numbers: [String] = []
        var rest = name.utf8[...]
        while true {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !digits.isEmpty else { break }
            numbers.append(String(decoding: digits.drop { $0 == UInt8(ascii: "0") }, as: UTF8.self))
            rest = rest[digits.endIndex...]
            guard let separator = rest.first, separators.utf8.contains(separator) else { break }
            rest = rest.dropFirst()
        }
        guard !numbers.isEmpty else { return nil }
        while numbers.count > 1, numbers.last?.isEmpty == true { numbers.removeLast() }
        value = .numbers(numbers)
    }

    /// Creates a version that is text.
    init(text: String) {
        value = .text(text)
    }

    var description: String {
        switch value {
        case .numbers(let numbers): numbers.map { $0.isEmpty ? "0" : $0 }.joined(separator: ".")
        case .text(let text): text
        }
    }

    static func < (left: MigrationVersion, right: MigrationVersion) -> Bool {
        switch (left.value, right.value) {
        case (.numbers(let left), .numbers(let right)):
            left.lexicographicallyPrecedes(right) { ($0.count, $0) < ($1.count, $1) }
        case (.text(let left), .text(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.numbers, .text): true
        case (.text, .numbers): false
        }
    }
}

// MARK: - Migration Parts

/// The parts of one migration that a format has found: the text that applies the step, and the text
/// that rolls it back.
struct MigrationParts {
    struct Part {
        let outline: SQLOutline
        /// The positions of its pieces, in the order in which they run.
        let ranges: [Range<Int>]
        /// The start of the part, for an error about all of it.
        let start: Int

        init(outline: SQLOutline, ranges: [Range<Int>], start: Int = 0) {
            self.outline = outline
            self.ranges = ranges
            self.start = start
        }

        /// A file that is a single part.
        ///
        /// - Throws: ``MigrationFolderError/markerInWholeFile(_:at:)``.
        init(whole outline: SQLOutline) throws {
            if let marker = outline.markers.first {
                throw MigrationFolderError.markerInWholeFile(
                    marker.marker.text,
                    at: outline.file.place(at: marker.range.lowerBound)
                )
            }
            self.init(outline: outline, ranges: [0..<outline.file.bytes.count])
        }

        /// The statements in it.
        var statements: [SQLOutline.Statement] {
            outline.statements.filter { statement in
                ranges.contains { $0.contains(statement.range.lowerBound) }
            }
        }

        /// The statements in it that a migration must not contain.
        func refused(
            usesTransaction: Bool
        ) -> [(kind: RefusedStatement, statement: SQLOutline.Statement)] {
            statements.compactMap { statement in
                switch RefusedStatement(words: statement.words) {
                case .vacuum where !usesTransaction, nil: return nil
                case .transactionControl where !usesTransaction: return (.ownTransaction, statement)
                case let kind?: return (kind, statement)
                }
            }
        }
    }

    let up: Part
    let down: Part?
    /// Whether both parts run in a transaction. If one of them says that it doesn't, this applies
    /// to both.
    let usesTransaction: Bool
}

// MARK: - Sections of an Outline

extension SQLOutline {
    /// Reads a file with the markers of all formats.
    ///
    /// - Throws: ``MigrationFolderError/unterminatedStatement(missing:at:)`` or
    ///   ``MigrationFolderError/misspeltMarker(_:at:)``.
    init(of file: SQLFile) throws {
        try self.init(of: file) { comment, isAtLineStart in
            if let marker = CheckPart.Marker(comment) {
                return isAtLineStart ? .check(marker) : .slip
            }
            for format in MigrationFormat.implementations {
                let reading = format.marker(in: comment, isAtLineStart: isAtLineStart)
                if reading != .comment { return reading }
            }
            return .comment
        }
    }
}
