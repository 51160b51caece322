// swift-tools-version: 6.1

import PackageDescription

let package = Package(
    name: "Notes",
    dependencies: [
        // In an app of your own: .package(url: "…", from: "…", traits: ["Tool"]). Here all traits are
        // enabled, so that CI compiles the package once for its tests and for this example.
        .package(name: "MigrationKit", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "notes",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "MigrationKitCLI", package: "MigrationKit"),
                .product(name: "MigrationKitGRDB", package: "MigrationKit"),
                .product(name: "MigrationKitSQL", package: "MigrationKit"),
                .product(name: "MigrationKitSQLCipher", package: "MigrationKit"),
                .product(name: "SecretService", package: "MigrationKit"),
            ],
            path: ".",
            sources: ["Sources"],
            resources: [.copy("migrations"), .copy("checks")]
        )
    ],
    swiftLanguageModes: [.v6]
)
