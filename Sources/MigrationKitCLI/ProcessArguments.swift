import Foundation

/// The process's arguments as other users see them, in `/proc/PID/cmdline`.
enum ProcessArguments {
    /// Overwrites the value of `--password`, in both its forms.
    ///
    /// Swift has copied the arguments by the time that this runs; the copies are private to the
    /// process.
    static func scrubPassword() {
        // The copies must be made before the originals are gone.
        _ = CommandLine.arguments
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let option = "--password"
            if isValue {
                overwrite(argument)
                isValue = false
            } else if strcmp(argument, option) == 0 {
                isValue = true
            } else if strncmp(argument, option + "=", option.utf8.count + 1) == 0 {
                overwrite(argument + option.utf8.count + 1)
            }
        }
    }

    private static func overwrite(_ argument: UnsafeMutablePointer<CChar>) {
        memset(argument, Int32(UInt8(ascii: "*")), strlen(argument))
    }
}
