import Foundation
import MigrationKitKeys
import TestSupport
import Testing

@testable import MigrationKitPages

@Suite struct DamagedPagesTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    @Test func pagesAreToldApartAndCounted() throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            Fixtures.fill(pages: 200)
        )
        var data = try folder.databaseData()
        let count = data.count / 4096
        try #require(count > 150)
        #expect(try find() == [])
        for number in [2, 64, 65, count] { data[number * 4096 - 1] ^= 1 }
        try folder.write("notes.db", data + [1, 2, 3])
        #expect(try find() == [2, 64, 65, count, count + 1])
    }

    private func find() throws -> [Int] {
        try CipherConnection(immutable: folder.database)
            .damagedPages(key: key.key, cipher: .current)
    }

    /// The file has holes instead of most pages.
    @Test func pagesFarBehindInTheFileAreRead() throws {
        let cipher = CipherSettings.current
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let first = (4 << 30) / cipher.pageSize + 1
        let encryption = try PageCipher(key: key.key, cipher: cipher, isEncrypting: true)
        let authentication = try #require(
            try PageAuthentication(key: key.key, salt: salt, cipher: cipher)
        )
        func page(_ number: Int) throws -> [UInt8] {
            var page = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: cipher.pageSize)
            try page.withUnsafeMutableBytes {
                try #require(encryption.encrypt($0, number: number))
                try #require(authentication.authenticate($0, number: number))
            }
            return page
        }
        let file = try FileHandle(
            forWritingTo: URL(fileURLWithPath: folder.write("notes.db", salt))
        )
        try file.seek(toOffset: UInt64((first - 1) * cipher.pageSize))
        for number in first..<first + 8 {
            // One of them is in another's place.
            try file.write(contentsOf: page(number == first + 5 ? 6 : number))
        }
        try file.close()

        let connection = try CipherConnection(immutable: folder.database)
        try connection.withHandle { handle in
            let search = try DamagedPages(
                of: SharedBytes(of: handle),
                key: key.key,
                cipher: cipher
            ).search()
            #expect(try search(first - 2..<first + 8) == [first - 2, first - 1, first + 5])
        }
    }
}
