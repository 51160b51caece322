/// `0001_name.sql` with `-- +goose Up` and `-- +goose Down` in it.
///
/// `StatementBegin` and `StatementEnd` are accepted but not needed, since SQLite itself finds the
/// end of each statement. <https://pressly.github.io/goose/documentation/annotations>
struct GooseFormat: FolderFormat {
    let phrase = "has goose's markers"
    let files = "0001_name.sql with the lines '-- +goose Up' and '-- +goose Down'"
    let example = "0001_name.sql, with the lines '-- +goose Up' and '-- +goose Down' in it"
    let markers: String? = "-- +goose Up, -- +goose Down, -- +goose NO TRANSACTION"
    let wayOutOfTransaction: String? = "has the line: -- +goose NO TRANSACTION"

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        let text = "-- +goose Up\n\(text(of: sql.up))\n\n-- +goose Down\n\(text(of: sql.down))\n"
        return [("\(identifier).sql", text)]
    }

    /// Goose itself finds the end of a trigger only by these markers.
    func text(of statement: String) -> String {
        guard statement.contains(";") else { return statement.terminated + "\n" }
        return "-- +goose StatementBegin\n\(statement.terminated)\n-- +goose StatementEnd\n"
    }

    /// What a marker says, in lower case.
    private enum Kind: String {
        case up, down
        case noTransaction = "no transaction"
        case statementBegin = "statementbegin"
        case statementEnd = "statementend"
        case substitution = "envsub on"
        case noSubstitution = "envsub off"

        init?(_ words: some Sequence<Substring>) {
            self.init(rawValue: words.joined(separator: " ").lowercased())
        }
    }

    /// Capitals make no difference.
    func marker(in comment: String, isAtLineStart: Bool) -> MigrationMarker.Reading {
        let words = comment.dropFirst(2).split(whereSeparator: \.isWhitespace)
        guard let first = words.first, first.lowercased().hasPrefix("+goose") else {
            return .comment
        }
        let options = Array(words.dropFirst())
        guard isAtLineStart, first.lowercased() == "+goose", let kind = Kind(options)
        else { return .slip }
        return .marker(
            MigrationMarker(
                format: .goose,
                part: kind == .up ? .up : kind == .down ? .down : nil,
                text: "-- +goose \(options.joined(separator: " "))",
                options: options
            )
        )
    }

    func parts(up outline: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws
        -> MigrationParts
    {
        try outline.checkBeginning(with: "-- +goose Up")
        let markers = outline.markers.compactMap { marker in
            Kind(marker.marker.options).map { (kind: $0, marker: marker) }
        }
        try check(markers, in: outline.file)

        // The markers around a statement also end it if it has no semicolon, so parts are cut
        // there.
        let borders = markers.filter {
            [.up, .down, .statementBegin, .statementEnd].contains($0.kind)
        }
        let ends = borders.dropFirst().map(\.marker.range.lowerBound) + [outline.file.bytes.count]
        var ups: [Range<Int>] = []
        var downs: [Range<Int>] = []
        var isDown = false
        for ((kind, marker), end) in zip(borders, ends) {
            isDown = isDown || kind == .down
            let range = marker.range.upperBound..<end
            if isDown { downs.append(range) } else { ups.append(range) }
        }
        if !isDown { try UpOnlyFormat.checkForOtherMarkers(outline) }
        return MigrationParts(
            up: .init(outline: outline, ranges: ups, start: borders[0].marker.range.lowerBound),
            down: .init(outline: outline, ranges: downs),
            usesTransaction: !markers.contains { $0.kind == .noTransaction }
        )
    }

    private func check(
        _ markers: [(kind: Kind, marker: SQLOutline.Marker)],
        in file: SQLFile
    ) throws {
        var seen: Set<Kind> = []
        var open: SQLPlace?
        for (kind, marker) in markers {
            let place = file.place(at: marker.range.lowerBound)
            switch kind {
            case .up, .down:
                if let open { throw MigrationFolderError.unbalancedStatement(at: open) }
                guard seen.insert(kind).inserted else {
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
