import MigrationKitSQL
import TestSupport

extension TemporaryFolder {
    /// The files of this folder, taken for migrations.
    func migrations() throws -> MigrationFolder {
        try MigrationFolder(path: path)
    }
}

/// The error with which a folder of such files is refused.
func error(of files: KeyValuePairs<String, String>) throws -> MigrationFolderError? {
    let folder = try TemporaryFolder()
    for (name, text) in files {
        if let slash = name.lastIndex(of: "/"), !folder.has(String(name[..<slash])) {
            try folder.makeFolder(String(name[..<slash]))
        }
        try folder.write(name, text.utf8)
    }
    do {
        _ = try folder.migrations()
        return nil
    } catch let error as MigrationFolderError {
        return error
    }
}

/// What the error of a folder of such files says, in its first line.
func refusal(of files: KeyValuePairs<String, String>) throws -> String? {
    try error(of: files)?.errorDescription
}

/// All that the error of a folder of such files says.
func message(of files: KeyValuePairs<String, String>) throws -> String? {
    try error(of: files).map {
        [$0.errorDescription, $0.recoverySuggestion].compactMap { $0 }.joined(separator: "\n")
    }
}

extension TemporaryFolder {
    fileprivate func has(_ name: String) -> Bool {
        mode(name) != nil
    }
}
