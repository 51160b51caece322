import CKeyStore
import Foundation
import KeyStore

/// The environment of the process, with its password kept apart.
///
/// Foundation's dictionary of the environment would make a text of `MIGRATIONKIT_PASSWORD`, which
/// can't be wiped. Here its bytes go straight into a secret.
struct ProcessEnvironment: Sendable {
    private static let passwordVariable = "MIGRATIONKIT_PASSWORD"

    private let variables: [String: String]
    private let password: Secret?
    /// Variables whose bytes are no text.
    private let unreadable: Set<String>

    /// The environment as it is now.
    ///
    /// - Parameter wipesPasswords: Whether the variables whose names begin with
    ///   `MIGRATIONKIT_PASSWORD` are taken out of it, and wiped where `/proc/PID/environ` shows
    ///   them. Only for the start of a program, since nothing guards the environment against other
    ///   threads.
    init(wipesPasswords: Bool) {
        var variables: [String: String] = [:]
        var password: Secret?
        var (wiped, unreadable): (Set<String>, Set<String>) = ([], [])
        var next = ckeystore_environment()
        while let entry = next?.pointee {
            next = next?.advanced(by: 1)
            guard let sign = strchr(entry, Int32(UInt8(ascii: "="))) else { continue }
            let name = String(
                decoding: UnsafeRawBufferPointer(start: entry, count: entry.distance(to: sign)),
                as: UTF8.self
            )
            let value = UnsafeMutableRawBufferPointer(start: sign + 1, count: strlen(sign + 1))
            // The first of several entries of one name counts, as for getenv(3).
            if name == Self.passwordVariable {
                password = password ?? Secret(copying: UnsafeRawBufferPointer(value))
            } else if variables[name] == nil {
                let text = String(validating: value, as: UTF8.self)
                variables[name] = text ?? String(decoding: value, as: UTF8.self)
                if text == nil { unreadable.insert(name) }
            }
            if wipesPasswords, name.hasPrefix(Self.passwordVariable) {
                explicit_bzero(sign + 1, value.count)
                wiped.insert(name)
            }
        }
        wiped.forEach { unsetenv($0) }
        self.variables = variables
        self.password = password
        self.unreadable = unreadable
    }

    /// An environment of these variables alone.
    init(_ variables: [String: String]) {
        var variables = variables
        password = variables.removeValue(forKey: Self.passwordVariable).map(Secret.init(utf8:))
        self.variables = variables
        unreadable = []
    }

    /// Refuses variables of ours whose bytes are no text: a path would become that of another file.
    ///
    /// - Throws: ``MigrationCLIError/notText(_:)``.
    func checkText() throws {
        let names = unreadable.filter { $0.hasPrefix("MIGRATIONKIT_") }
        guard let name = names.min() else { return }
        throw MigrationCLIError.notText(name)
    }

    /// A variable's value; never the password.
    subscript(name: String) -> String? { variables[name] }

    /// A variable's value, unless it is empty, which counts as not set.
    func nonEmpty(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The names of the variables that begin with a text, sorted.
    func names(beginningWith prefix: String) -> [String] {
        variables.keys.filter { $0.hasPrefix(prefix) }.sorted()
    }

    /// A variable's value as a secret, the password included.
    func secret(_ name: String) -> Secret? {
        name == Self.passwordVariable ? password : variables[name].map(Secret.init(utf8:))
    }
}
