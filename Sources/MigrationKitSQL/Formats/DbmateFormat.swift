/// `0001_name.sql` with `-- migrate:up` and `-- migrate:down` in it.
///
/// A file may have several blocks, each with an up and a down part. To apply the step, all up parts
/// run in order. To roll it back, all down parts run in reverse order.
/// <https://github.com/amacneil/dbmate#creating-migrations>
struct DbmateFormat: FolderFormat {
    let phrase = "has dbmate's markers"
    let files = "0001_name.sql with the lines '-- migrate:up' and '-- migrate:down'"
    let example = "0001_name.sql, with the lines '-- migrate:up' and '-- migrate:down' in it"
    let markers: String? = "-- migrate:up, -- migrate:down (in lower case)"
    let wayOutOfTransaction: String? = "begins with: -- migrate:up transaction:false"

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        let text = "-- migrate:up\n\(text(of: sql.up))\n\n-- migrate:down\n\(text(of: sql.down))\n"
        return [("\(identifier).sql", text)]
    }

    /// A misspelled `migrate:down` must not be taken for a comment: otherwise the SQL of the
    /// rollback would run at the end of the step.
    func marker(in comment: String, isAtLineStart: Bool) -> MigrationMarker.Reading {
        let words = Self.words(of: comment.dropFirst(2))
        let part: MigrationMarker.Part? =
            switch words.first {
            case "migrate:up": .up
            case "migrate:down": .down
            default: nil
            }
        if isAtLineStart, let first = words.first, let part {
            // Other words there are a comment.
            let options = words.dropFirst().filter { $0.contains(":") }
            return .marker(
                MigrationMarker(
                    format: .dbmate,
                    part: part,
                    text: "-- \(first)",
                    options: options
                )
            )
        }
        let others = [OlderComment.marker[...], BatchComment.marker[...]]
        if let first = words.first, others.contains(first) { return .comment }
        // Most comments need no further check.
        guard words.first?.lowercased().hasPrefix("migrate") == true else { return .comment }
        // "migrate:" followed directly by something, or "up" or "down" after misplaced spaces.
        let slip = /--\s*migrate(:\S|\s*:\s*(up|down)\b)/.ignoresCase()
        return comment.prefixMatch(of: slip) == nil ? .comment : .slip
    }

    /// The words between white space. A regular expression for this would be slow.
    private static func words(of text: Substring) -> [Substring] {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            return text.split(whereSeparator: \.isWhitespace)
        }
        return text.utf8.split { $0 == UInt8(ascii: " ") || (0x09...0x0d).contains($0) }
            .map { Substring($0) }
    }

    func parts(up outline: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws
        -> MigrationParts
    {
        let markers = outline.markers
        try checkOptions(of: markers, in: outline.file)
        try outline.checkBeginning(with: "-- migrate:up")

        var ups: [Range<Int>] = []
        var downs: [Range<Int>] = []
        for (index, marker) in markers.enumerated() {
            let isSecond = index > 0 && markers[index - 1].marker.part == marker.marker.part
            guard !isSecond else {
                throw MigrationFolderError.duplicateMarker(
                    marker.marker.text,
                    at: outline.file.place(at: marker.range.lowerBound)
                )
            }
            let end =
                index + 1 < markers.count
                ? markers[index + 1].range.lowerBound : outline.file.bytes.count
            let range = marker.range.upperBound..<end
            if marker.marker.part == .up {
                ups.append(range)
            } else {
                downs.insert(range, at: 0)
            }
        }
        // A single block may have no down part. With several blocks, a rollback would undo only
        // some of them.
        if ups.count > 1, ups.count > downs.count, let last = markers.last {
            throw MigrationFolderError.missingDownMarker(
                at: outline.file.place(at: last.range.lowerBound)
            )
        }
        if downs.isEmpty { try UpOnlyFormat.checkForOtherMarkers(outline) }
        return MigrationParts(
            up: .init(outline: outline, ranges: ups, start: markers[0].range.lowerBound),
            down: .init(outline: outline, ranges: downs),
            usesTransaction: !markers.contains { $0.marker.options.contains("transaction:false") }
        )
    }

    private func checkOptions(of markers: [SQLOutline.Marker], in file: SQLFile) throws {
        for marker in markers where marker.marker.format == .dbmate {
            let known: [Substring] = ["transaction:true", "transaction:false"]
            guard let option = marker.marker.options.first(where: { !known.contains($0) }) else {
                continue
            }
            throw MigrationFolderError.unsupportedOption(
                String(option).withoutControlCharacters,
                at: file.place(
                    at: marker.range.lowerBound
                        + option.base.utf8.distance(
                            from: option.base.startIndex,
                            to: option.startIndex
                        )
                )
            )
        }
    }
}
