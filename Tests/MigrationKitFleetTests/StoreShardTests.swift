import MigrationKitFleet
import Testing

/// The parts of a fleet.
@Suite struct StoreShardTests {
    private static let names = (0..<2000).map { "tenant-\($0)" } + ["", "ü", "a/b", "A/b"]

    @Test(arguments: [1, 2, 3, 7, 8, 64, 1000])
    func everyStoreIsInExactlyOnePart(count: Int) throws {
        let shards = try (1...count).map { try #require(StoreShard(number: $0, of: count)) }
        for name in Self.names {
            #expect(shards.count { $0.contains(name) } == 1, "\(name)")
        }
    }

    @Test func partsAreAboutEqual() throws {
        for number in 1...8 {
            let shard = try #require(StoreShard(number: number, of: 8))
            #expect((200...300).contains(Self.names.count { shard.contains($0) }))
        }
    }

    /// Vectors of the hash's authors: its value for a text decides the part, on every machine.
    /// <http://www.isthe.com/chongo/tech/comp/fnv/>
    @Test(arguments: [
        ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c),
        ("foobar", 0x8594_4171_f739_67e8 as UInt64),
    ])
    func hashIsTheDocumentedOne(_ name: String, _ hash: UInt64) throws {
        for count in [2, 10, 97, 1000] {
            let number = Int(hash % UInt64(count)) + 1
            #expect(try #require(StoreShard(number: number, of: count)).contains(name))
        }
    }

    @Test(arguments: [(0, 1), (2, 1), (-1, 3), (1, 0)])
    func otherPartsDoNotExist(_ number: Int, _ count: Int) {
        #expect(StoreShard(number: number, of: count) == nil)
    }
}
