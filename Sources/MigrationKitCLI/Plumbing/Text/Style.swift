import Foundation

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
