import GRDB
import MigrationKitKeys
import MigrationKitPages

extension EncryptedDatabase {
    /// The commands that open a database in SQLCipher's shell as it is open here: the key, derived
    /// already, how the file is encrypted, and temporary data in memory.
    ///
    /// The shell prints `ok` for a key, so its output is turned off meanwhile.
    ///
    /// - Parameter reader: The database.
    /// - Returns: `nil` if it wasn't opened here.
    package static func shellScript(opening reader: any DatabaseReader) throws -> Secret? {
        guard let setup = try ConnectionSetup.of(reader) else { return nil }
        let digits = setup.key?.hexadecimal()
        let head = ".output /dev/null\n" + (digits == nil ? "" : "PRAGMA key = \"x'")
        let settings = setup.options.cipher.statements.map { "\($0);\n" }.joined()
        let tail =
            (digits == nil ? "" : "'\";\n\(settings)") + "PRAGMA temp_store = MEMORY;\n.output\n"
        let count = head.utf8.count + (digits?.count ?? 0) + tail.utf8.count
        return Secret(capacity: count) { memory in
            memory.copyBytes(from: head.utf8)
            var place = head.utf8.count
            digits?.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: memory[place...]).copyMemory(from: bytes)
                place += bytes.count
            }
            UnsafeMutableRawBufferPointer(rebasing: memory[place...]).copyBytes(from: tail.utf8)
            return count
        }
    }
}
