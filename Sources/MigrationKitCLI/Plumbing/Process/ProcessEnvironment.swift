import CKeyStore
import Dispatch
import Foundation
import MigrationKitCommon
import MigrationKitKeys

/// The environment of the process, with its password stored separately.
///
/// Foundation's dictionary would make a `String` of `MIGRATIONKIT_PASSWORD`, which can't be wiped.
/// Here its bytes are copied directly into a secret.
struct ProcessEnvironment: Sendable {
    private static let passwordVariable = "MIGRATIONKIT_PASSWORD"

    private let variables: [String: String]
    private let password: Secret?
    /// Variables whose bytes aren't text.
    private let unreadable: Set<String>

    /// The current environment.
    ///
    /// - Parameter wipesPasswords: Whether variables whose names begin with `MIGRATIONKIT_PASSWORD`
    ///   are removed, and wiped where `/proc/PID/environ` shows them. Only for the start of a
    ///   program, since nothing protects the environment against other threads.
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
            // If a name occurs several times, the first one counts, as for getenv(3).
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

    /// An environment with only these variables.
    init(_ variables: [String: String]) {
        var variables = variables
        password = variables.removeValue(forKey: Self.passwordVariable).map(Secret.init(utf8:))
        self.variables = variables
        unreadable = []
    }

    /// Throws if one of our variables isn't text: as a path, it would become that of another file.
    ///
    /// - Throws: ``MigrationCLIError/notText(_:)``.
    func checkText() throws {
        let names = unreadable.filter { $0.hasPrefix("MIGRATIONKIT_") }
        guard let name = names.min() else { return }
        throw MigrationCLIError.notText(name)
    }

    /// A variable's value. It never returns the password.
    subscript(name: String) -> String? { variables[name] }

    /// A variable's value; `nil` if it is empty, which counts as not set.
    func nonEmpty(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The names of the variables with a prefix, sorted.
    func names(beginningWith prefix: String) -> [String] {
        variables.keys.filter { $0.hasPrefix(prefix) }.sorted()
    }

    /// A variable's value as a secret. It also returns the password.
    func secret(_ name: String) -> Secret? {
        name == Self.passwordVariable ? password : variables[name].map(Secret.init(utf8:))
    }
}
