import Glibc

extension KeyResolver {
    /// The key source if none is named, from this process's own environment.
    ///
    /// In this order: the file `migrationkit-password` in the service manager's
    /// `CREDENTIALS_DIRECTORY`, if it exists; `MIGRATIONKIT_PASSWORD_FILE`;
    /// `MIGRATIONKIT_PASSWORD`; a question on the terminal, if there is one.
    ///
    /// - Parameter promptFor: What the key is for, such as the database's file name; nil if nobody
    ///   may be asked.
    /// - Returns: The source, or nil if there is none.
    public static func implicitSource(promptFor: String?) -> KeySource? {
        implicitSource(promptFor: promptFor) { name in
            guard let value = getenv(name) else { return nil }
            return Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
        }
    }

    /// The key source if none is named, from the given environment; otherwise as
    /// ``implicitSource(promptFor:)``.
    public static func implicitSource(
        environment: [String: String],
        promptFor: String?
    ) -> KeySource? {
        implicitSource(promptFor: promptFor) { environment[$0].map(Secret.init(utf8:)) }
    }

    /// The key source if none is named, from an environment that was saved earlier; otherwise as
    /// ``implicitSource(promptFor:)``.
    ///
    /// A program that wipes its password variables at its start keeps them in secrets until this
    /// function needs them.
    ///
    /// - Parameters:
    ///   - promptFor: What the key is for; nil if nobody may be asked.
    ///   - value: The value of a variable, or nil if it isn't set.
    public static func implicitSource(
        promptFor: String?,
        value: (_ name: String) -> Secret?
    ) -> KeySource? {
        // A relative folder would depend on the process's working folder.
        if let folder = value("CREDENTIALS_DIRECTORY")?.unwipableText, folder.hasPrefix("/") {
            let path = folder + "/migrationkit-password"
            var status = stat()
            if lstat(path, &status) == 0 { return .credentialsFile(path: path) }
        }
        if let path = value("MIGRATIONKIT_PASSWORD_FILE")?.unwipableText {
            return .file(path: path)
        }
        if let password = value("MIGRATIONKIT_PASSWORD") {
            return .environment(variable: "MIGRATIONKIT_PASSWORD", value: password)
        }
        guard let promptFor, TerminalPrompt.isPossible else { return nil }
        return .prompt("Passphrase for \(promptFor): ")
    }
}
