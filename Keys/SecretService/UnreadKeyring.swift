import FoundationEssentials
import Glibc

/// A file of GNOME Keyring that it doesn't read. It only logs that, and goes on as if there were no such
/// collection.
struct UnreadKeyring {
    private let path: String
    /// The first line that isn't of the form of a keyring without a password, counted from 1; `nil` if
    /// there is none. Such a file is text, into which GNOME Keyring 42 writes the line breaks of a secret.
    private let line: Int?

    /// - Parameter collections: The object paths of the collections that it has read.
    static func all(besides collections: [String]) -> [UnreadKeyring] {
        let folder = "\(UserFolder.data)/keyrings"
        let read = Set(collections.compactMap { $0.split(separator: "/").last.map(String.init) })
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { name in
            guard name.hasSuffix(suffix), !read.contains(element(for: name.dropLast(suffix.count)))
            else { return nil }
            let path = "\(folder)/\(name)"
            return UnreadKeyring(path: path, line: malformedLine(of: path))
        }
    }

    private static let suffix = ".keyring"

    /// The last part of a collection's object path, for the name of its file.
    private static func element(for name: Substring) -> String {
        name.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            guard !(character.isLetter || character.isNumber) || byte > 127 else {
                return String(character)
            }
            return "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    var finding: KeyStoreDiagnosis.Finding {
        guard let line else {
            return .init(
                "collection",
                .warning,
                "GNOME Keyring doesn't read its file \(path)",
                nextStep:
                    "Log out and in. If it is still not read, it is damaged: restore it from a backup."
            )
        }
        return .init(
            "collection",
            .warning,
            "GNOME Keyring doesn't read its file \(path): line \(line) of it isn't of its form",
            nextStep: """
                Make no new collection: the keys are in that file, which is text. The line is probably the \
                second one of a secret with a line break. Copy the file. Join the line to the one before \
                it, with the two characters \\n in between. Then log out and in.
                """
        )
    }

    /// - Returns: `nil` if the file can't be read, isn't text, or has only lines of its form.
    private static func malformedLine(of path: String) -> Int? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
        defer {
            // It has every secret of the collection.
            if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
            buffer.deallocate()
        }
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return nil }
        let lines = buffer[..<count].split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        )
        let isText = lines.first { !$0.isEmpty }?.elementsEqual("[keyring]".utf8) == true
        guard isText else { return nil }
        return lines.firstIndex { line in
            let isHeading = line.first == UInt8(ascii: "[") || line.first == UInt8(ascii: "#")
            return !line.isEmpty && !isHeading && !line.contains(UInt8(ascii: "="))
        }.map { $0 + 1 }
    }
}
