import ArgumentParser
import Foundation
import MigrationKitKeys

struct KeyShowCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            _superCommandName: Program.name,
            abstract: "Describe a stored key, or print it.",
            usage: """
                \(Program.name) key show --keychain-service <service>
                  [--keychain-account <account>] [--reveal] [<options>]
                """,
            discussion: """
                --reveal prints the key itself, and only to a terminal: a file or a pipe could \
                keep it.
                """
        )
    }

    @Flag(help: "Print the key itself.")
    var reveal = false

    @Flag(help: "Print it even if standard output is not a terminal.")
    var force = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let service = try keychain.requiredService(in: context)
        let account = try keychain.account(in: context)
        guard !reveal || force || context.outputIsTerminal else {
            throw CommandError.outputIsNoTerminal
        }
        let store = try keychain.keyStore(in: context)
        guard reveal else {
            let item = try store.onlyItem(service: service, account: account)
            if json {
                return try context.printJSON(fields: ["item": item])
            }
            return context.output(KeyTable(width: context.columns).text(of: [item]))
        }
        let entry = try store.entry(service: service, account: account)
        if json {
            context.reveal(try RevealedKey.document(of: entry))
        } else {
            context.reveal(entry.text)
        }
    }
}

// MARK: - Revealed Key

/// A JSON document with a key, of which no `String` is made: that could not be wiped.
enum RevealedKey {
    /// What `key show --reveal --json` prints.
    static func document(of entry: KeyEntry) throws -> Secret {
        let isText = entry.text.withUnsafeBytes { isUTF8($0) }
        // The document is made with a unique placeholder for the secret.
        let place = UUID().uuidString
        let document: JSONFields = [
            "schemaVersion": JSON.schemaVersion, "item": entry.item,
            "encoding": isText ? "utf8" : "hexadecimal", "secret": place,
        ]
        let text = try JSON.text(of: document)
        let parts = text.components(separatedBy: place).map { Array($0.utf8) }
        let head = parts.first ?? []
        let tail = parts.dropFirst().first ?? []
        return entry.text.withUnsafeBytes { bytes in
            // A byte takes at most six characters: `\u001f`.
            Secret(
                capacity: head.count + 6 * bytes.count + tail.count,
                initializingWith: { memory in
                    var used = 0
                    func append(_ byte: UInt8) {
                        memory[used] = byte
                        used += 1
                    }
                    head.forEach(append)
                    bytes.forEach { isText ? escaped($0, append) : hexadecimal($0, append) }
                    tail.forEach(append)
                    return used
                }
            )
        }
    }

    /// A byte of a JSON string. <https://www.rfc-editor.org/rfc/rfc8259#section-7>
    private static func escaped(_ byte: UInt8, _ append: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case 0..<0x20:
            "\\u00".utf8.forEach(append)
            hexadecimal(byte, append)
        default:
            append(byte)
        }
    }

    private static func hexadecimal(_ byte: UInt8, _ append: (UInt8) -> Void) {
        for digit in [byte >> 4, byte & 15] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// Checked in place, without a copy.
    private static func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}
