import Foundation
import TestSupport

extension OutputSnapshotTests {
    /// Commands on many stores.
    static let fleetScenes = [
        Scene("fleet") { transcript in
            try makeTenants(&transcript)
            try transcript.run("fleet status \(tenants)")
            try transcript.run("fleet migrate \(tenants) --dry-run --exclude carol")
            try transcript.run("fleet migrate \(tenants) --report report")
            try transcript.run("fleet migrate \(tenants)")
            try transcript.run("fleet verify \(tenants)")
            try transcript.run("fleet rollback \(tenants) --to 0001")
            try transcript.run("fleet backup \(tenants) --output-dir copies --report report")
            try transcript.run("fleet report report")
            try transcript.run("fleet restore \(tenants) --from-dir copies")
            try transcript.run("fleet restore \(tenants) --from-dir copies --dry-run")
            try transcript.run("fleet restore \(tenants) --from-dir copies --yes")
            transcript.note("master has new keys")
            try transcript.tool.folder.write("master", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("fleet rekey \(tenants) \(newKeys) --dry-run")
            try transcript.run("fleet rekey \(tenants) \(newKeys)")
            try transcript.run("fleet rekey \(tenants) --new-key-file-suffix .key")
        },
        Scene("fleet-failed") { transcript in
            try makeTenants(&transcript)
            transcript.note("the key of alice is another one, and bob has one table more")
            try transcript.tool.folder.write(
                "tenants/alice.db.key",
                ToolFolder.randomDigits(count: 64).utf8
            )
            _ = try SQLCipherShell.run(
                transcript.tool.folder.path("tenants/bob.db"),
                key: "x'\(transcript.tool.password)'",
                "CREATE TABLE stray (id INTEGER);"
            )
            try transcript.run("fleet migrate \(tenants) --canary 1 --report report")
            try transcript.run("fleet migrate \(alice) --json --shard 1/1")
            try transcript.run("fleet migrate \(tenants) --report report")
            try transcript.run("fleet restore \(bob) --from-dir copies --yes")
            try transcript.tool.folder.makeFolder("copies")
            try transcript.run("fleet restore \(bob) --from-dir copies --yes")
            try transcript.run("fleet rekey \(bob) --new-key-file-suffix .new")
            transcript.note("latest.db is a link to bob.db")
            try FileManager.default.createSymbolicLink(
                atPath: transcript.tool.folder.path("tenants/latest.db"),
                withDestinationPath: "bob.db"
            )
            try transcript.run("fleet status \(tenants)")
            try transcript.run("fleet status --stores tenants/[bl]*.db \(besideStores) --json")
            try transcript.run("fleet verify \(bob) --json --report bob")
            transcript.note("a killed run has left half a line")
            let report = try transcript.tool.folder.data("bob")
            try transcript.tool.folder.write("bob", report + Array("{\"store\":\"".utf8))
            try transcript.run("fleet report bob --json")
            try transcript.run("fleet report report bob")
            try transcript.run("fleet report report bob --list")
        },
    ]

    private static let besideStores = "--key-file-suffix .key"
    private static let newKeys = "--name-from tenants --new-master-key-file master"
    private static let tenants = "--stores tenants/*.db \(besideStores)"
    private static let alice = "--stores tenants/alice.db \(besideStores)"
    private static let bob = "--stores tenants/bob.db \(besideStores)"

    /// Makes three stores that lack the last migration.
    private static func makeTenants(_ transcript: inout Transcript) throws {
        try transcript.writeNotes()
        try transcript.run("migrate --to 0002")
        transcript.note("notes.db is copied to tenants/alice.db, bob.db and carol.db")
        let folder = transcript.tool.folder
        try folder.makeFolder("tenants")
        for name in ["alice", "bob", "carol"] {
            try FileManager.default.copyItem(
                atPath: folder.path("notes.db"),
                toPath: folder.path("tenants/\(name).db")
            )
            try folder.write("tenants/\(name).db.key", transcript.tool.password.utf8)
        }
    }
}
