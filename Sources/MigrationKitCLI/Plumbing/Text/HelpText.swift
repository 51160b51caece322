import Foundation

/// A help text whose sections begin with the command's own options.
///
/// ArgumentParser prints every group of options that has a title before those without one, so that what
/// makes a command what it is would come after thirty options that all commands have.
struct HelpSections {
    /// The titles of the groups that several commands share, up to a comma.
    static let shared = ["DATABASE", "DATABASES", "KEY", "KEYS", "MIGRATIONS"]

    /// The text: the arguments, the options of the command, and those that it shares.
    let text: String

    /// - Parameter help: The text as ArgumentParser writes it, or another message.
    init(_ help: String) {
        // The last one ends with a line feed more.
        let end = help.hasSuffix("\n") ? "\n" : ""
        var sections = help.dropLast(end.count).components(separatedBy: "\n\n")
        guard let usage = sections.firstIndex(where: { $0.hasPrefix("USAGE:") }) else {
            text = help
            return
        }
        let titles = sections.map { $0.prefix { $0 != ":" && $0 != "," && $0 != "\n" } }
        func rank(_ index: Int) -> Int {
            let title = String(titles[index])
            return switch title {
            case "ARGUMENTS": 0
            case "OPTIONS": 1
            case "SUBCOMMANDS": 4
            default: Self.shared.contains(title) ? 3 : 2
            }
        }
        // Below them, there may be a sentence.
        let groups = sections.indices.filter { index in
            index > usage && titles[index].contains(where: \.isLetter)
                && titles[index].allSatisfy { $0.isUppercase || $0 == " " }
        }
        let sorted = groups.sorted { (rank($0), $0) < (rank($1), $1) }.map { sections[$0] }
        for (index, section) in zip(groups, sorted) { sections[index] = section }
        text = sections.joined(separator: "\n\n") + end
    }
}

// MARK: - Narrow Help

/// A help text for terminals that are too narrow for two columns: each description is below its
/// option. A word is broken only if it doesn't fit on a line.
struct NarrowHelp {
    /// Below this, the longest words don't fit the second column.
    static let limit = 60

    /// The column in which ArgumentParser begins descriptions.
    private static let column = 26

    /// The text in lines of at most `width` columns.
    let text: String

    /// - Parameters:
    ///   - wide: The text as ArgumentParser writes it if every description fits on a line.
    ///   - width: The number of columns.
    init(_ wide: String, width: Int) {
        text = wide.split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { Self.lines(of: $0, width: width) }
            .joined(separator: "\n")
    }

    private static func lines(of line: Substring, width: Int) -> [String] {
        let indent = line.prefix { $0 == " " }.count
        guard indent > 0 else { return wrapped(line, "", "  ", width) }
        if indent == column { return wrapped(line, "      ", "      ", width) }
        // A label of an option or a command, followed by its description.
        let start = line.index(line.startIndex, offsetBy: column, limitedBy: line.endIndex)
        if indent == 2, let start, start < line.endIndex, line[..<start].hasSuffix(" ") {
            return wrapped(line[..<start], "  ", "    ", width)
                + wrapped(line[start...], "      ", "      ", width)
        }
        let same = String(repeating: " ", count: indent)
        return wrapped(line, same, same + "  ", width)
    }

    /// Wraps the words of a line.
    private static func wrapped(
        _ line: some StringProtocol,
        _ first: String,
        _ rest: String,
        _ width: Int
    ) -> [String] {
        var lines: [String] = []
        for word in line.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.endIndex - 1] = "\(last) \(word)"
            } else {
                lines.append((lines.isEmpty ? first : rest) + word)
            }
        }
        return lines.isEmpty ? [""] : lines
    }
}
