/// `0001_name.sql` with `-- +goose Up` and `-- +goose Down` in it.
///
/// `StatementBegin` and `StatementEnd` are accepted. They aren't needed, since SQLite itself says
/// where a statement ends. <https://pressly.github.io/goose/documentation/annotations>
enum GooseFormat {
    private static let kinds: [String: MigrationMarker.Kind] = [
        "up": .up, "down": .down, "no transaction": .noTransaction,
        "statementbegin": .statementBegin, "statementend": .statementEnd,
        "envsub on": .substitution, "envsub off": .noSubstitution,
    ]

    /// Reads a line comment. Capitals make no difference.
    static func read(_ comment: String, isAtLineStart: Bool) -> MigrationMarker.Reading {
        let words = comment.dropFirst(2).split(whereSeparator: \.isWhitespace)
        guard let first = words.first, first.lowercased().hasPrefix("+goose") else {
            return .comment
        }
        let name = words.dropFirst().joined(separator: " ")
        guard isAtLineStart, first.lowercased() == "+goose", let kind = kinds[name.lowercased()]
        else { return .slip }
        return .marker(
            MigrationMarker(format: .goose, kind: kind, text: "-- +goose \(name)", options: [])
        )
    }

    static func parts(of outline: SQLOutline) throws -> MigrationParts {
        try outline.checkBeginning()
        try checkMarkers(of: outline)

        // The markers around a statement end it too, if it has no semicolon. So a part is cut there.
        let borders = outline.markers.filter {
            [.up, .down, .statementBegin, .statementEnd].contains($0.marker.kind)
        }
        let ends = borders.dropFirst().map(\.range.lowerBound) + [outline.file.bytes.count]
        var ups: [Range<Int>] = []
        var downs: [Range<Int>] = []
        var isDown = false
        for (marker, end) in zip(borders, ends) {
            isDown = isDown || marker.marker.kind == .down
            let range = marker.range.upperBound..<end
            if isDown { downs.append(range) } else { ups.append(range) }
        }
        return MigrationParts(
            up: .init(outline: outline, ranges: ups, start: borders[0].range.lowerBound),
            down: .init(outline: outline, ranges: downs),
            usesTransaction: !outline.markers.contains { $0.marker.kind == .noTransaction }
        )
    }

    private static func checkMarkers(of outline: SQLOutline) throws {
        var seen: Set<MigrationMarker.Kind> = []
        var open: SQLPlace?
        for marker in outline.markers {
            let place = outline.file.place(at: marker.range.lowerBound)
            switch marker.marker.kind {
            case .up, .down:
                if let open { throw MigrationFolderError.unbalancedStatement(at: open) }
                guard seen.insert(marker.marker.kind).inserted else {
                    throw MigrationFolderError.duplicateMarker(marker.marker.text, at: place)
                }
            case .statementBegin:
                guard open == nil, !seen.isEmpty else {
                    throw MigrationFolderError.unbalancedStatement(at: place)
                }
                open = place
            case .statementEnd:
                guard open != nil else {
                    throw MigrationFolderError.unbalancedStatement(at: place)
                }
                open = nil
            case .substitution:
                throw MigrationFolderError.environmentSubstitution(at: place)
            case .noTransaction, .noSubstitution:
                continue
            }
        }
        if let open { throw MigrationFolderError.unbalancedStatement(at: open) }
    }
}
