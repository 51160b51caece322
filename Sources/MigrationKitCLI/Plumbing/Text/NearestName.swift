/// The name that was probably meant by a mistyped one.
///
/// - Parameters:
///   - name: What was typed.
///   - candidates: The existing names.
/// - Returns: The candidate with the fewest typing errors, ignoring case; if there are several, the
///   first one. `nil` if each would need more errors than a third of its letters, so that nothing
///   far-fetched is suggested.
func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let typed = Array(name.lowercased())
    var best: (name: String, slips: Int)?
    for candidate in candidates {
        let letters = Array(candidate.lowercased())
        let limit = max(1, max(typed.count, letters.count) / 3)
        // The difference in length is a lower bound, which saves time with long lists.
        guard abs(typed.count - letters.count) <= limit else { continue }
        let slips = slips(from: typed, to: letters)
        if slips <= limit, slips < best?.slips ?? .max {
            best = (candidate, slips)
        }
    }
    return best?.name
}

/// The number of missing, additional, changed or swapped letters (the Damerau-Levenshtein distance,
/// in which no pair is changed twice).
private func slips(from typed: [Character], to meant: [Character]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...meant.count)
    for row in typed.indices {
        var current = [row + 1]
        for column in meant.indices {
            let isSame = typed[row] == meant[column]
            var count = min(
                last[column + 1] + 1,
                current[column] + 1,
                last[column] + (isSame ? 0 : 1)
            )
            if row > 0, column > 0, typed[row] == meant[column - 1],
                typed[row - 1] == meant[column]
            {
                count = min(count, beforeLast[column - 1] + 1)
            }
            current.append(count)
        }
        (beforeLast, last) = (last, current)
    }
    return last[meant.count]
}
