import Foundation

/// Which folders of a target use which, found by the names in their files.
///
/// A folder uses another one if it names what only the other one declares: a type, a function or a
/// variable of a file's top level, or a member of an extension. The files in the target's root count
/// as one more folder.
struct FolderUses {
    /// A use, such as `Runner/ForwardRun.swift: MigrationLedger`, by the folders from and to.
    private var uses: [String: [String: String]] = [:]

    /// Reads the Swift files under a folder.
    init(of target: URL) throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: target.path)
        let files = try paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.map {
            ($0, try String(contentsOf: target.appending(path: $0), encoding: .utf8))
        }
        self.init(of: Dictionary(uniqueKeysWithValues: files))
    }

    /// - Parameter files: The texts by their paths in the target.
    init(of files: [String: String]) {
        let sources = files.sorted { $0.key < $1.key }.map { SourceFile(path: $0, text: $1) }
        var declaring: [String: Set<String>] = [:]
        var homes: [String: String] = [:]
        for source in sources {
            for name in source.declared { declaring[name, default: []].insert(source.folder) }
            for name in source.visible { homes[name] = source.folder }
        }
        for source in sources {
            for name in source.named {
                guard let home = homes[name], declaring[name] == [home], home != source.folder
                else { continue }
                uses[source.folder, default: [:]][home] = "\(source.path): \(name)"
            }
        }
    }

    /// The shortest circle of folders, with a use for each arrow; `nil` if there is none.
    var circle: [String]? {
        uses.keys.compactMap(way).min { ($0.count, $0[0]) < ($1.count, $1[0]) }
    }

    /// The shortest way from a folder back to itself.
    private func way(backTo start: String) -> [String]? {
        var ways: [(end: String, uses: [String])] = [(start, [])]
        var seen: Set<String> = []
        while !ways.isEmpty {
            let way = ways.removeFirst()
            for (next, use) in uses[way.end, default: [:]].sorted(by: { $0.key < $1.key }) {
                let longer = way.uses + ["\(way.end) uses \(next) (\(use))"]
                if next == start { return longer }
                if seen.insert(next).inserted { ways.append((next, longer)) }
            }
        }
        return nil
    }
}

/// The names that a file declares, and those that it uses.
private struct SourceFile {
    let path: String
    /// The first folder of the path; `.` in the target's root.
    let folder: String
    /// Everything declared, locals too: such a name proves no use of another folder.
    private(set) var declared: Set<String> = []
    /// What other files can use.
    private(set) var visible: Set<String> = []
    private(set) var named: Set<String> = []

    init(path: String, text: String) {
        self.path = path
        folder = path.contains("/") ? String(path.prefix { $0 != "/" }) : "."
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.scanCode(inString: false)
        let tokens = scanner.tokens
        let declaring: Set = [
            "struct", "class", "enum", "protocol", "actor", "typealias", "func", "let", "var",
            "case",
        ]
        /// Whether each brace that is open is that of an extension.
        var braces: [Bool] = []
        var isExtension = false
        for (index, token) in tokens.enumerated() {
            switch token {
            case "{":
                braces.append(isExtension)
                isExtension = false
            case "}":
                _ = braces.popLast()
            case "extension" where braces.isEmpty:
                isExtension = !Self.isPrivate(tokens[..<index])
            case _ where declaring.contains(token) && index + 1 < tokens.count:
                let name = tokens[index + 1]
                declared.insert(name)
                let isName = name.first?.isLetter == true
                guard isName, !Self.isPrivate(tokens[..<index]) else { continue }
                if braces.allSatisfy(\.self), braces.count < 2 { visible.insert(name) }
            default:
                // A name in lower case may also be a label or a parameter.
                let isMember = index > 0 && tokens[index - 1] == "."
                let isCall = index + 1 < tokens.count && tokens[index + 1] == "("
                if isMember || isCall || token.first?.isUppercase == true { named.insert(token) }
            }
        }
    }

    /// Whether the modifiers at the end say so; `private(set)` says it of the setter alone.
    private static func isPrivate(_ tokens: ArraySlice<String>) -> Bool {
        let modifiers: Set = [
            "public", "package", "private", "fileprivate", "final", "indirect", "static",
            "mutating", "nonisolated", "lazy", "weak", "(", ")", "set", "unsafe",
        ]
        let last = Array(tokens.suffix(8))
        for index in last.indices.reversed() where modifiers.contains(last[index]) {
            guard last[index...].allSatisfy(modifiers.contains) else { return false }
            let isOfSetter = index + 1 < last.count && last[index + 1] == "("
            if ["private", "fileprivate"].contains(last[index]) && !isOfSetter { return true }
        }
        return false
    }
}

/// Cuts Swift into identifiers and punctuation, without comments and the texts of literals. Code in
/// a literal stays.
private struct Scanner {
    let bytes: [UInt8]
    private(set) var tokens: [String] = []
    private var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func scanCode(inString: Bool) {
        var open = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                scanString()
            case UInt8(ascii: "/") where next(1) == UInt8(ascii: "/"):
                while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
            case UInt8(ascii: "("), UInt8(ascii: ")"):
                open += byte == UInt8(ascii: "(") ? 1 : -1
                index += 1
                if inString && open < 0 { return }
                tokens.append(byte == UInt8(ascii: "(") ? "(" : ")")
            case _ where Self.isWord(byte):
                let start = index
                while index < bytes.count, Self.isWord(bytes[index]) { index += 1 }
                tokens.append(String(decoding: bytes[start..<index], as: UTF8.self))
            case UInt8(ascii: " "), UInt8(ascii: "\n"):
                index += 1
            default:
                tokens.append(String(UnicodeScalar(byte)))
                index += 1
            }
        }
    }

    /// A text ends with its line, unless it has three quotes.
    private mutating func scanString() {
        let quote = UInt8(ascii: "\"")
        let isLong = next(1) == quote && next(2) == quote
        index += isLong ? 3 : 1
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\") where next(1) == UInt8(ascii: "("):
                index += 2
                scanCode(inString: true)
            case UInt8(ascii: "\\"):
                index += 2
            case quote where isLong && !(next(1) == quote && next(2) == quote):
                index += 1
            case quote:
                index += isLong ? 3 : 1
                return
            case UInt8(ascii: "\n") where !isLong:
                return
            default:
                index += 1
            }
        }
    }

    private func next(_ distance: Int) -> UInt8? {
        index + distance < bytes.count ? bytes[index + distance] : nil
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}
