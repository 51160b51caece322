import Foundation
import TestSupport
import Testing

/// What is fetched for a package that depends on this one. `Scripts/check-runner-only` looks at what is
/// built.
@Suite struct PackageTraitTests {
    private static let ofRunner: Set = ["GRDB.swift", "swift-log"]
    private static let ofTool: Set = ["TOMLKit", "swift-argument-parser"]
    private static let ofServices: Set = [
        "swift-service-lifecycle", "swift-metrics", "swift-distributed-tracing",
        // Needed by the first of these.
        "swift-async-algorithms", "swift-collections",
    ]

    @Test(arguments: [
        (", traits: []", "MigrationKitGRDB", ofRunner),
        (", traits: []", "MigrationKitSQLCipher", ofRunner),
        (", traits: [\"Services\"]", "MigrationKitService", ofRunner.union(ofServices)),
        (", traits: [\"Tool\"]", "MigrationKitCLI", ofRunner.union(ofTool)),
        ("", "MigrationKitCLI", ofRunner.union(ofTool).union(ofServices)),
    ])
    func onlyWhatTheTraitsNeedIsFetched(
        _ traits: String,
        _ product: String,
        _ expected: Set<String>
    ) throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("Sources")
        try folder.write("Sources/main.swift", "import \(product)\n".utf8)
        try folder.write(
            "Package.swift",
            """
            // swift-tools-version: 6.1
            import PackageDescription

            let package = Package(
                name: "App",
                dependencies: [
                    .package(name: "MigrationKit", path: "\(PackageFolder.path(""))"\(traits))
                ],
                targets: [
                    .executableTarget(
                        name: "App",
                        dependencies: [.product(name: "\(product)", package: "MigrationKit")],
                        path: "Sources"
                    )
                ]
            )
            """.utf8
        )
        let result = try run("swift", ["package", "--package-path", folder.path, "resolve"])
        #expect(result.status == 0, "\(result)")
        let fetched = try FileManager.default.contentsOfDirectory(
            atPath: folder.path(".build/checkouts")
        )
        #expect(Set(fetched) == expected)
    }
}
