import MigrationKitCommon
import Testing

@Suite struct EngineFaultTests {
    @Test(arguments: [
        (
            "3.46.1", "4.6.1 community",
            ["wal-reset", "CVE-2025-29087", "CVE-2025-6965", "CVE-2026-11822"]
        ),
        ("3.43.2", "", ["wal-reset", "CVE-2025-6965"]),
        ("3.44.6", "", ["CVE-2025-29087", "CVE-2025-6965"]),
        ("3.50.7", "", []), ("3.51.2", "4.13.0 community", ["wal-reset", "CVE-2026-11822"]),
        ("3.51.3", "4.14.0 community", ["CVE-2026-11822"]), ("3.53.3", "4.17.0 community", []),
        ("3.53.4", "4.19.0 community", ["zero-pages"]), ("3.60.0", "", []),
    ])
    func eachEngineHasItsFaults(_ sqlite: String, _ cipher: String, _ names: [String]) {
        #expect(EngineFault.known(sqlite: sqlite, cipher: cipher).map(\.name) == names)
    }
}
