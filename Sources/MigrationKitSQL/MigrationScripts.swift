/// Both parts of a migration, checked.
struct MigrationScripts: Sendable {
    /// What applies the step.
    let up: SQLScript

    /// What takes it back; `nil` if nothing does.
    let down: SQLScript?

    /// Whether both run in a transaction. One marker that says `transaction:false` counts for both.
    let usesTransaction: Bool

    /// Reads the files of a migration.
    ///
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    init(files: MigrationFiles, in folder: SQLFolder) throws {
        switch files {
        case .single(let name):
            try self.init(single: folder.read(name))
        case .pair(let up, let down):
            try self.init(up: folder.read(up), down: down.map { try folder.read($0) })
        }
    }

    private init(single file: SQLFile) throws {
        let outline = try SQLOutline(of: file)
        let markers = outline.markers
        func line(of marker: SQLOutline.Marker) -> Int { file.line(at: marker.range.lowerBound) }

        for marker in markers {
            let known: [Substring] = ["transaction:true", "transaction:false"]
            if let option = marker.marker.options.first(where: { !known.contains($0) }) {
                throw MigrationFolderError.unsupportedOption(
                    file: file.name,
                    line: line(of: marker),
                    option: String(option)
                )
            }
        }
        guard let up = markers.first(where: { $0.marker.direction == .up }) else {
            throw MigrationFolderError.missingUpMarker(file: file.name)
        }
        let first = markers[0]
        if let early = outline.statements.first, early.range.lowerBound < first.range.lowerBound {
            throw MigrationFolderError.statementBeforeMarker(
                file: file.name,
                line: file.line(at: early.range.lowerBound)
            )
        }
        guard first == up else {
            throw MigrationFolderError.downBeforeUp(file: file.name, line: line(of: first))
        }
        let second = markers.dropFirst().first
        let repeated = markers.dropFirst().first {
            $0.marker.direction == .up || ($0.marker.direction == .down && $0 != second)
        }
        if let repeated {
            throw MigrationFolderError.duplicateMarker(
                file: file.name,
                line: line(of: repeated),
                marker: repeated.marker.direction.rawValue
            )
        }

        let usesTransaction = !markers.contains { $0.marker.options.contains("transaction:false") }
        func script(_ range: Range<Int>) throws -> SQLScript? {
            try Self.script(range, of: file, outline: outline, usesTransaction: usesTransaction)
        }
        let upEnd = second?.range.lowerBound ?? file.bytes.count
        try self.init(
            up: script(first.range.upperBound..<upEnd),
            down: second.flatMap { try script($0.range.upperBound..<file.bytes.count) },
            usesTransaction: usesTransaction,
            source: file.name
        )
    }

    private init(up: SQLFile, down: SQLFile?) throws {
        try self.init(
            up: Self.script(whole: up),
            down: down.flatMap { try Self.script(whole: $0) },
            usesTransaction: true,
            source: up.name
        )
    }

    private init(
        up: SQLScript?,
        down: SQLScript?,
        usesTransaction: Bool,
        source: String
    ) throws {
        guard let up else {
            throw MigrationFolderError.emptyUpPart(file: source)
        }
        self.up = up
        self.down = down
        self.usesTransaction = usesTransaction
    }

    /// A file of a pair, which is one part as a whole.
    private static func script(whole file: SQLFile) throws -> SQLScript? {
        let outline = try SQLOutline(of: file)
        if let marker = outline.markers.first {
            throw MigrationFolderError.markerInPair(
                file: file.name,
                line: file.line(at: marker.range.lowerBound)
            )
        }
        return try script(0..<file.bytes.count, of: file, outline: outline, usesTransaction: true)
    }

    /// A part of a file; `nil` if it has no statement.
    private static func script(
        _ range: Range<Int>,
        of file: SQLFile,
        outline: SQLOutline,
        usesTransaction: Bool
    ) throws -> SQLScript? {
        let statements = outline.statements.filter { range.contains($0.range.lowerBound) }
        for statement in statements {
            let refused = RefusedStatement(words: statement.words)
            if let refused, usesTransaction || refused != .vacuum {
                throw MigrationFolderError.refusedStatement(
                    file: file.name,
                    line: file.line(at: statement.range.lowerBound),
                    kind: refused
                )
            }
        }
        return statements.isEmpty ? nil : SQLScript(file: file, range: range)
    }
}
