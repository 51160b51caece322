import CKeyStore
import Dispatch
import Foundation
import MigrationKitCommon
import MigrationKitKeys

/// The process's arguments, which other users can see in `/proc/PID/cmdline`.
enum ProcessArguments {
    /// Removes the value of `--password`, in both its forms, from the arguments.
    ///
    /// An asterisk replaces it. If this is called before `CommandLine.arguments`, no `String` of
    /// the value is ever made.
    ///
    /// - Returns: The value; if there are several, the last, as for the parser.
    static func takePassword() -> Secret? {
        let option = "--password"
        var password: Secret?
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            if isValue {
                isValue = false
                // If the value is missing and another option follows, the parser reports that.
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

    /// Throws if an argument isn't text: as a path, it would become that of another file.
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
        // Hides even the length.
        if count > 0 { argument.pointee = CChar(UInt8(ascii: "*")) }
        return secret
    }
}
