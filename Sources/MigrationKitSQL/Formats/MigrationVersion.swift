/// Where a migration stands among the others: the number that its name begins with, or the numbers.
///
/// Numbers are compared as numbers, however long they are and whatever zeros stand in front: 2
/// comes before 10, and 1 is 01. Diesel's versions are texts, and are compared as texts.
struct MigrationVersion: Hashable, Comparable, CustomStringConvertible {
    private enum Value: Hashable {
        /// The digits of each number, without leading zeros. Zeros at the end make no difference.
        case numbers([String])
        case text(String)
    }

    private let value: Value

    /// Reads the beginning of a name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - separators: The ASCII characters that may stand between two numbers.
    /// - Returns: `nil` if the name doesn't begin with a digit.
    init?(of name: some StringProtocol, separators: String) {
        var numbers: [String] = []
        var rest = name.utf8[...]
        while true {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !digits.isEmpty else { break }
            numbers.append(String(decoding: digits.drop { $0 == UInt8(ascii: "0") }, as: UTF8.self))
            rest = rest[digits.endIndex...]
            guard let separator = rest.first, separators.utf8.contains(separator) else { break }
            rest = rest.dropFirst()
        }
        guard !numbers.isEmpty else { return nil }
        while numbers.count > 1, numbers.last?.isEmpty == true { numbers.removeLast() }
        value = .numbers(numbers)
    }

    /// Takes a version that is a text.
    init(text: String) {
        value = .text(text)
    }

    var description: String {
        switch value {
        case .numbers(let numbers): numbers.map { $0.isEmpty ? "0" : $0 }.joined(separator: ".")
        case .text(let text): text
        }
    }

    static func < (left: MigrationVersion, right: MigrationVersion) -> Bool {
        switch (left.value, right.value) {
        case (.numbers(let left), .numbers(let right)):
            left.lexicographicallyPrecedes(right) { ($0.count, $0) < ($1.count, $1) }
        case (.text(let left), .text(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.numbers, .text): true
        case (.text, .numbers): false
        }
    }
}
