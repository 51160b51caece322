// swift-tools-version: 6.1

import PackageDescription

// What the benchmarks measure that is no command: plain GRDB, and pools. A package of its own, so
// that nothing of it is built by whoever uses or tests MigrationKit.
let package = Package(
    name: "Probe",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "MigrationKit", path: "../..", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "probe",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "MigrationKitKeys", package: "MigrationKit"),
                .product(name: "MigrationKit", package: "MigrationKit"),
                .product(name: "MigrationKitGRDB", package: "MigrationKit"),
                .product(name: "MigrationKitSQLCipher", package: "MigrationKit"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
