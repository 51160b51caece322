import Foundation

/// A table whose columns are as wide as their widest cell. Put long texts into the last column: it
/// isn't cut at the terminal's edge.
func table(_ heading: [String], _ rows: [[String]]) -> String {
    let lines = ([heading] + rows).map { $0.map(\.printable) }
    let widths = heading.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
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

    /// For programs: ISO 8601 in UTC, with milliseconds.
    var iso8601: String {
        let milliseconds = Int((timeIntervalSince1970 * 1000).rounded())
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return parts.text("%Y-%m-%dT%H:%M:%S") + ".\(fraction)Z"
    }
}

extension tm {
    fileprivate func text(_ format: String) -> String {
        var parts = self
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, format, &parts)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
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
