/// The difference between two texts in the format of `diff -u`, which `patch` reads.
struct UnifiedDifference {
    /// The lines, including the header; empty if the texts are the same.
    let lines: [String]

    /// - Parameters:
    ///   - old: The old text, and its name.
    ///   - new: The new text, and its name.
    ///   - context: How many unchanged lines surround the changes.
    init(
        from old: (name: String, text: String),
        to new: (name: String, text: String),
        context: Int = 3
    ) {
        let edits = Self.edits(from: Self.lines(of: old.text), to: Self.lines(of: new.text))
        let hunks = Self.hunks(of: edits, context: context)
        lines =
            hunks.isEmpty
            ? [] : ["--- \(old.name)", "+++ \(new.name)"] + hunks.flatMap { Self.text(edits, $0) }
    }

    private enum Sign: String {
        case same = " "
        case removed = "-"
        case inserted = "+"
    }

    private struct Edit {
        let sign: Sign
        let line: String
        /// How many lines of each text come before it.
        let before: (old: Int, new: Int)
    }

    /// The lines of a text. A last line without a line end differs from one with it, and is
    /// reported as by `diff`.
    private static func lines(of text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let last = lines.popLast(), !last.isEmpty {
            lines.append(last + "\n\\ No newline at end of file")
        }
        return lines
    }

    private static func edits(from old: [String], to new: [String]) -> [Edit] {
        let difference = new.difference(from: old)
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var edits: [Edit] = []
        var place = (old: 0, new: 0)
        while place.old < old.count || place.new < new.count {
            if removed.contains(place.old) {
                edits.append(Edit(sign: .removed, line: old[place.old], before: place))
                place.old += 1
            } else if inserted.contains(place.new) {
                edits.append(Edit(sign: .inserted, line: new[place.new], before: place))
                place.new += 1
            } else {
                edits.append(Edit(sign: .same, line: old[place.old], before: place))
                place = (place.old + 1, place.new + 1)
            }
        }
        return edits
    }

    /// The changes with the lines around them. Changes whose contexts touch are combined.
    private static func hunks(of edits: [Edit], context: Int) -> [Range<Int>] {
        edits.indices.filter { edits[$0].sign != .same }.reduce(into: []) { hunks, index in
            let start = max(0, index - context)
            let end = min(edits.count, index + context + 1)
            if let last = hunks.last, start <= last.upperBound {
                hunks[hunks.count - 1] = last.lowerBound..<end
            } else {
                hunks.append(start..<end)
            }
        }
    }

    private static func text(_ edits: [Edit], _ hunk: Range<Int>) -> [String] {
        let edits = edits[hunk]
        guard let first = edits.first else { return [] }
        func range(_ start: Int, without sign: Sign) -> String {
            let count = edits.count { $0.sign != sign }
            // An empty range is given by the line before it.
            return "\(count == 0 ? start : start + 1),\(count)"
        }
        let old = range(first.before.old, without: .inserted)
        let new = range(first.before.new, without: .removed)
        return ["@@ -\(old) +\(new) @@"] + edits.map { $0.sign.rawValue + $0.line }
    }
}
