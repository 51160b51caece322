import Foundation
import TestSupport

extension TemporaryFolder {
    /// The path of the database that most tests are about.
    var database: String { path(Self.databaseName) }

    /// The name of that database.
    static var databaseName: String { "notes.db" }

    /// The bytes of that database.
    func databaseData() throws -> Data {
        try data(Self.databaseName)
    }

    /// Changes eight bytes of that database from an offset on.
    func damage(at offset: Int) throws {
        var data = try databaseData()
        for index in offset..<(offset + 8) { data[index] ^= 0x55 }
        try write(Self.databaseName, data)
    }
}
