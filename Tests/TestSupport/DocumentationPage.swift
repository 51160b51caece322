import Foundation

/// A page of the documentation, with the code that it shows.
public struct DocumentationPage: Sendable {
    /// A block of code.
    public struct Block: Sendable, CustomStringConvertible {
        /// The page.
        public let page: String
        /// What stands behind the fence; empty if nothing does.
        public let language: String
        /// Which one of the page's blocks in this language it is, from 1.
        public let number: Int
        /// The code, without the indentation of a list.
        public let text: String

        /// Such as `Documentation/Correcting.md, sql 1`.
        public var description: String { "\(page), \(language) \(number)" }
    }

    /// The path in the package.
    public let path: String
    /// The blocks in order.
    public let blocks: [Block]

    /// Reads a page.
    public init(_ path: String) throws {
        self.path = path
        let text = try String(contentsOfFile: PackageFolder.path(path), encoding: .utf8)
        var blocks: [Block] = []
        var open: (language: String, indentation: Int, lines: [Substring])?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let indentation = line.prefix { $0 == " " }.count
            let isFence = line.dropFirst(indentation).hasPrefix("```")
            if let (language, outer, lines) = open {
                if isFence, indentation == outer {
                    let number = 1 + blocks.count { $0.language == language }
                    let code = lines.map { $0 + "\n" }.joined()
                    blocks.append(Block(page: path, language: language, number: number, text: code))
                    open = nil
                } else {
                    open?.lines.append(line.dropFirst(min(outer, indentation)))
                }
            } else if isFence {
                let language = line.dropFirst(indentation + 3)
                open = (language.trimmingCharacters(in: .whitespaces), indentation, [])
            }
        }
        self.blocks = blocks
    }

    /// A block as it is printed.
    public func code(_ language: String, _ number: Int = 1) throws -> String {
        guard let block = blocks.first(where: { $0.language == language && $0.number == number })
        else { throw Missing(description: "\(path) has no block \(language) \(number)") }
        return block.text
    }

    /// A block isn't there.
    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The paths of all pages: README, the articles, and those beside examples, packages and code.
    public static let paths: [String] = {
        let folders = ["Documentation", "Examples", "Packaging", "Sources", "Keys"]
        let inFolders = folders.flatMap { folder in
            let names = FileManager.default.enumerator(atPath: PackageFolder.path(folder))
            return (names?.allObjects as? [String] ?? [])
                .filter { $0.hasSuffix(".md") && !$0.contains(".build/") }.map { "\(folder)/\($0)" }
        }
        return ["README.md"] + inFolders.sorted()
    }()
}
