import Foundation
import MigrationKitCommon

/// A time as text: in milliseconds below a second.
func duration(_ seconds: Double) -> String {
    if seconds < 1 {
        return "\(Int((seconds * 1000).rounded())) ms"
    }
    let tenths = Int((seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
}

extension UInt32 {
    /// A file's permissions, in octal digits.
    var octalMode: String {
        let digits = String(self, radix: 8)
        return String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
    }
}

extension String {
    /// The text without what controls a terminal or a log: names come from other programs.
    ///
    /// GitHub's runner takes a line that begins with `::`, also behind spaces, for a command, and so
    /// `##[` anywhere.
    /// <https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs>
    var printable: String {
        // Most texts are plain ASCII, and a table may have thousands.
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) && $0 != 0x23 && $0 != 0x3A }) {
            return self
        }
        var (shown, rest) = (String.UnicodeScalarView(), Substring(self).unicodeScalars)
        var last: Unicode.Scalar = " "
        while let scalar = rest.first {
            let isCommand =
                last.properties.isWhitespace && rest.starts(with: "::".unicodeScalars)
                || rest.starts(with: "##[".unicodeScalars)
            shown.append(isCommand || ShownText.shown(scalar) != scalar ? "\u{FFFD}" : scalar)
            last = scalar
            rest.removeFirst()
        }
        return String(shown)
    }

    /// Lines that others wrote, without control characters other than tabs.
    var printableLines: String {
        let tab = Unicode.Scalar("\t")
        return split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.unicodeScalars.split(separator: tab, omittingEmptySubsequences: false)
                .map { String($0).printable }.joined(separator: "\t")
        }.joined(separator: "\n")
    }
}

// MARK: - Lists and Tables

/// Names or numbers in one line, such as `a, b and 3 more`.
///
/// - Parameters:
///   - first: Those that are shown.
///   - count: How many there are.
func shortList(_ first: some Sequence<some CustomStringConvertible>, of count: Int) -> String {
    let shown = first.map(\.description)
    let rest = count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
}

/// Numbers of pages in one line, such as `pages 3, 7 to 9`.
///
/// - Parameter numbers: In order, and at least one.
func pageList(_ numbers: [Int]) -> String {
    var runs: [ClosedRange<Int>] = []
    for number in numbers {
        if let last = runs.last, last.upperBound + 1 == number {
            runs[runs.count - 1] = last.lowerBound...number
        } else {
            runs.append(number...number)
        }
    }
    let shown = runs.prefix(20)
    let rest = numbers.count - shown.reduce(0) { $0 + $1.count }
    return (numbers.count == 1 ? "page " : "pages ")
        + shown.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
        .joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
}

/// A table whose columns are as wide as their widest cell. Put long texts into the last column: it
/// isn't cut at the terminal's edge.
///
/// - Parameters:
///   - least: How wide the first columns are at least.
///   - most: How wide the first columns get at most. A wider cell pushes only its own line out of
///     the columns.
func table(
    _ heading: [String],
    _ rows: [[String]],
    least: [Int] = [],
    most: [Int] = []
) -> String {
    let lines = ([heading] + rows).map { $0.map(\.printable) }
    let widths = heading.indices.map { column in
        let limit = column < most.count ? most[column] : .max
        let widths = lines.map { $0[column].count }.filter { $0 <= limit }
        return max(widths.max() ?? 0, column < least.count ? least[column] : 0)
    }
    return lines.map { cells in
        zip(cells, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
            .trimmingTrailingSpaces()
    }.joined(separator: "\n")
}

extension Date {
    /// For people: to the minute, in the local time zone, with its offset.
    var localMinute: String {
        var seconds = time_t(timeIntervalSince1970)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts.text("%Y-%m-%d %H:%M %z")
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }

    func trimmingTrailingSpaces() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

/// Colours: on a terminal that isn't dumb, unless `NO_COLOR` is set. <https://no-color.org>
struct Style: Sendable {
    /// The codes of ECMA-48 for what stands out.
    enum Color: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    let isOn: Bool

    static let plain = Style(isOn: false)

    /// - Parameter descriptor: Where the text is written.
    init(on descriptor: Int32) {
        isOn = Terminal.isRich(descriptor)
    }

    private init(isOn: Bool) {
        self.isOn = isOn
    }

    /// The text in a colour; unchanged if colours are off.
    func text(_ text: String, _ color: Color) -> String {
        isOn ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// A message whose first word has the colour of its kind.
    func message(_ message: String) -> String {
        let kinds: KeyValuePairs<String, Color> = [
            "error:": .red, "warning:": .yellow, "note:": .yellow,
        ]
        guard isOn, let kind = kinds.first(where: { message.hasPrefix($0.key) }) else {
            return message
        }
        return text(kind.key, kind.value) + message.dropFirst(kind.key.count)
    }
}

// MARK: - Nearest Name

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
