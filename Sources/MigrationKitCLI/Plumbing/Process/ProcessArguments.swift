import Foundation
import KeyStore

/// The process's arguments where other users see them, in `/proc/PID/cmdline`.
enum ProcessArguments {
    /// Takes the value of `--password`, in both its forms, out of the arguments.
    ///
    /// What stays there is an asterisk. Called before `CommandLine.arguments` is, no text of the
    /// value is ever made.
    ///
    /// - Returns: The value; the last of several, as for the parser.
    static func takePassword() -> Secret? {
        let option = "--password"
        var password: Secret?
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            if isValue {
                isValue = false
                // Another option, where the value was forgotten, is left to the parser.
                guard strncmp(argument, "--", 2) != 0 else { continue }
                password = take(argument)
            } else if strcmp(argument, option) == 0 {
                isValue = true
            } else if strncmp(argument, option + "=", option.utf8.count + 1) == 0 {
                password = take(argument + option.utf8.count + 1)
            }
        }
        return password
    }

    /// Refuses arguments whose bytes are no text: a path would become that of another file.
    ///
    /// - Throws: ``MigrationCLIError/notText(_:)``.
    static func checkText() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index],
                String(validatingCString: argument) == nil
            else { continue }
            throw MigrationCLIError.notText("argument \(index)")
        }
    }

    private static func take(_ argument: UnsafeMutablePointer<CChar>) -> Secret {
        let count = strlen(argument)
        let secret = Secret(copying: UnsafeRawBufferPointer(start: argument, count: count))
        explicit_bzero(argument, count)
        // Not even the length is shown.
        if count > 0 { argument.pointee = CChar(UInt8(ascii: "*")) }
        return secret
    }
}
